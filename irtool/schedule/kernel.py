"""Schedules a whole kernel: each of its stages by its form."""

from __future__ import annotations

from collections.abc import Sequence

from ..tir.kernel import Choice, Kernel
from ..tir.stmt import Allocate, Buffer, Seq, Stmt, seq
from .affine import loads
from .axes import fuse_axes, fuse_sums, split_groups, split_sums
from .bands import Banded, choose_band, cut
from .forms import Map, Reduction, buffers_read, recognise
from .fusion import fuse_stages
from .guards import take_guards
from .machine import Machine
from .packing import pack
from .parts import Part, reuse
from .plans import Plan, plan
from .separable import separate
from .strategies import elementwise, register_tile, row_reduction
from .threads import share_loops

Note = tuple[int, str, str]
"""Work of a stage, its strategy, and why."""

_LEAST_REUSE = 1.5
"""How often an element that is copied must be read."""

_MUCH_REUSE = 8
"""The same where the sum could be made in vectors as it is."""


def schedule_kernel(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel with its stages tiled and vectorized; its `choice` says which strategy the main one got, and why."""
    same = [(kernel.inputs[i], kernel.outputs[o]) for i, o in kernel.in_place]
    scheduler = _Scheduler(machine, same)
    body = share_loops(scheduler.run(kernel.body))
    notes = sorted(scheduler.notes, key=lambda n: -n[0])
    strategy, reason = (notes[0][1], notes[0][2]) if notes else ("loops", "no stage has a form that is scheduled")
    return kernel.replace(body=body, choice=Choice(strategy, reason))


class _Scheduler:
    """Schedules the stages of one kernel. `same`: pairs of an input and an output that may lie in the same memory."""

    def __init__(self, machine: Machine, same: Sequence[tuple[Buffer, Buffer]]) -> None:
        self.machine = machine
        self.same = same
        self.notes: list[Note] = []
        self.buffers: list[Buffer] = []
        """What lies in the workspace."""
        self.rows = 0
        """How many rows are summed, where stages are sums of rows or work on their elements."""

    def run(self, root: Stmt) -> Stmt:
        s = root
        while isinstance(s, Allocate) and s.buffer.scope == "arena":
            self.buffers.append(s.buffer)
            s = s.body
        stages = list(s.stmts) if isinstance(s, Seq) and recognise(s) is None else [s]
        forms = [recognise(x) for x in stages]
        self.rows = max(0, row_reduction.row_count(forms, self.machine)) if self.machine.vector_bytes else 0
        made: list[Stmt] = []
        at = 0
        while at < len(stages):
            banded = _banded(forms[at : at + 2], stages) if self.machine.vector_bytes else None
            if banded is None:
                made.append(self._stage(stages[at], forms[at]))
                at += 1
                continue
            made.append(banded.assemble(self._map(banded.copy), self._stage(stages[at + 1], banded.reader)))
            old = forms[at].stores[0].buffer  # type: ignore[union-attr]
            self.buffers = [banded.buffer if b is old else b for b in self.buffers]
            at += 2
        if self.machine.vector_bytes:
            made, self.buffers = fuse_stages(made, self.buffers, self.same)
        body = seq(made)
        for b in reversed(self.buffers):
            body = Allocate(b, body)
        return body

    def _stage(self, s: Stmt, form: Map | Reduction | None) -> Stmt:
        if isinstance(form, Reduction):
            split = take_guards(split_groups(split_sums(form)))
            return self._reduction(form, split, fuse_sums(fuse_axes(split)))
        if isinstance(form, Map):
            size = 1
            for _, n in form.loops:
                size *= n
            how = "vectors along the contiguous axis" if self.machine.vector_bytes else "loops fused"
            self.notes.append((size, "elementwise", how))
            return self._map(form)
        self.notes.append((0, "loops", "not a formula"))
        return s

    def _map(self, m: Map) -> Stmt:
        return elementwise.schedule(m, self.machine, self.rows)

    def _reduction(self, form: Reduction, split: Reduction, flat: Reduction) -> Stmt:
        """`split` is the reduction `form` prepared for schedules, `flat` the same with loops fused."""
        machine = self.machine
        lanes = machine.lanes_of(flat.acc.dtype)
        row = row_reduction.applies(flat, machine)
        tiled = self._plan(flat)
        if row is not None and (tiled is None or tiled.lanes * tiled.tile.points < 4 * machine.lanes(4)):
            tiled = None
        else:
            row = None
        parts = separate(split, lanes) if lanes > 1 and row is None else []
        if not parts and tiled is None and lanes > 1:
            parts = pack(flat, lanes)
            if reuse(flat, parts) < (_LEAST_REUSE if row is None else _MUCH_REUSE):
                parts = []
        made = self._in_parts(flat, parts)
        if made is not None:
            nest, reason = made
            self.notes.append((form.work, "packed_tile", reason))
            self.buffers += [p.buffer for p in parts if not p.is_near]
            return nest
        if row is not None:
            self.notes.append((form.work, "row_reduction", f"vectors along the summed axis {flat.inner[row][0].name}"))
            return row_reduction.schedule(flat, row, machine)
        if tiled is not None:
            self.notes.append((form.work, "register_tile", tiled.reason))
            return register_tile.schedule(flat, tiled)
        reason = "no spatial axis along which all operands are contiguous or constant"
        self.notes.append((form.work, "scalar_reduction", reason))
        return register_tile.plain(form)

    def _plan(self, r: Reduction) -> Plan | None:
        """How to tile a reduction; results may be made twice unless they replace what they are made from."""
        written = {s.buffer for s in r.stores}
        read = {e.source for e in loads(r.update, *(s.value for s in r.stores))}
        again = not any(a in read and b in written for a, b in self.same)
        return plan(r, self.machine, again)

    def _in_parts(self, r: Reduction, parts: Sequence[Part]) -> tuple[Stmt, str] | None:
        """The parts one after the other, and which tile they have; None if there are none, or one cannot be vectorized."""
        made: list[Stmt] = []
        reason = ""
        for p in parts:
            stages: list[Stmt] = []
            for form in (*p.fill, p.reader):
                if isinstance(form, Map):
                    stages.append(self._map(form))
                    continue
                tiled = self._plan(form)
                if tiled is None:
                    return None
                stages.append(register_tile.schedule(form, tiled))
                if form is p.reader:
                    reason = reason or f"a buffer of {p.buffer.nbytes} bytes, {tiled.reason}"
            made.append(p.assemble(stages, r.work))
        return (seq(made), reason) if made else None


def _banded(pair: list[Map | Reduction | None], stages: list[Stmt]) -> Banded | None:
    """A copy and the reduction behind it in bands, if that is of use and nothing else reads the copy."""
    if len(pair) != 2 or not isinstance(pair[0], Map) or not isinstance(pair[1], Reduction):
        return None
    band = choose_band(pair[0], pair[1])
    if band is None:
        return None
    copied = pair[0].stores[0].buffer
    if sum(1 for x in stages if copied in buffers_read(x)) != 1:
        return None
    return cut(pair[0], pair[1], band)
