"""Schedules a whole kernel: each of its stages by its form."""

from __future__ import annotations

from ..tir.stmt import Allocate, Buffer, PrimFunc, Seq, Stmt, seq
from . import contract, elementwise, rows
from .bands import Banded, choose_band, cut
from .fusion import fuse_stages
from .guards import take_guards
from .machine import Machine
from .nests import Map, Reduction, buffers_read, recognise
from .threads import share_loops


def schedule_kernel(kernel: PrimFunc, machine: Machine) -> PrimFunc:
    """The kernel with its stages tiled and vectorized; `attrs` say which strategy the main one got, and why."""
    notes: list[tuple[int, str, str]] = []
    same = [(kernel.inputs[i], kernel.outputs[o]) for i, o in kernel.attrs.get("in_place", ())]
    body = share_loops(_scheduled(kernel.body, machine, notes, same))
    notes.sort(key=lambda n: -n[0])
    strategy, reason = (notes[0][1], notes[0][2]) if notes else ("loops", "no stage has a form that is scheduled")
    return kernel.with_body(body, strategy=strategy, reason=reason)


def _scheduled(
    root: Stmt, machine: Machine, notes: list[tuple[int, str, str]], same: list[tuple[Buffer, Buffer]]
) -> Stmt:
    buffers: list[Buffer] = []
    s = root
    while isinstance(s, Allocate) and s.buffer.scope == "arena":
        buffers.append(s.buffer)
        s = s.body
    stages = list(s.stmts) if isinstance(s, Seq) and recognise(s) is None else [s]
    forms = [recognise(x) for x in stages]
    made: list[Stmt] = []
    at = 0
    while at < len(stages):
        banded = _banded(forms[at : at + 2], stages) if machine.vector_bytes else None
        if banded is None:
            made.append(_stage(stages[at], forms[at], machine, notes))
            at += 1
            continue
        copy = _stage(stages[at], banded.copy, machine, [])
        reader = _stage(stages[at + 1], banded.reader, machine, notes)
        made.append(banded.assemble(copy, reader))
        old = forms[at].stores[0].buffer  # type: ignore[union-attr]
        buffers = [banded.buffer if b is old else b for b in buffers]
        at += 2
    if machine.vector_bytes:
        made, buffers = fuse_stages(made, buffers, same)
    body = seq(made)
    for b in reversed(buffers):
        body = Allocate(b, body)
    return body


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


def _stage(s: Stmt, form: Map | Reduction | None, machine: Machine, notes: list[tuple[int, str, str]]) -> Stmt:
    if isinstance(form, Reduction):
        flat = contract.flatten_loops(take_guards(contract.split_groups(contract.split_loops(form))))
        row = rows.applies(flat, machine)
        plan = contract.plan(flat, machine)
        if row is not None and (plan is None or plan.lanes * plan.tile.rows * plan.tile.vectors < 4 * machine.lanes(4)):
            notes.append((form.work, "row_reduction", f"vectors along the summed axis {flat.inner[row][0].name}"))
            return rows.schedule(flat, row, machine)
        if plan is not None:
            notes.append((form.work, "register_tile", plan.reason))
            return contract.schedule(flat, plan, machine)
        notes.append(
            (form.work, "scalar_reduction", "no spatial axis along which all operands are contiguous or constant")
        )
        return contract.plain(form)
    if isinstance(form, Map):
        size = 1
        for _, n in form.loops:
            size *= n
        notes.append((size, "elementwise", "vectors along the contiguous axis"))
        return elementwise.schedule(form, machine)
    notes.append((0, "loops", "not a formula"))
    return s
