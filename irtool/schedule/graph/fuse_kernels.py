"""Fusion of consecutive kernels over the same rows: statistics of rows and their uses.

    m = mean(x)        (a kernel)
    v = variance(x, m) (a kernel)         ⇒      for i: m' = mean(x[i, :]); v' = variance(x[i, :], m');
    y = f(x, m, v)     (a kernel)                       y[i, :] = f(x[i, :], m', v')

A row is then in the L1 cache when it is read again, and what passes from one to the other needs memory for one row.
Kernels are joined only if one loop over rows comes of it, in which every result between them is a local row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...tir.expr import Load, post_order
from ...tir.forms import AnyForm, Map, buffers_read, stores_of, with_buffers
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Branch, HostFunction, Loop, Program, RunKernel, Slot, kernels_in_use, steps
from ...tir.stmt import Buffer, For, Scope
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..cost.row_choice import row_count
from .fuse_row_loops import fuse_row_loops
from .kernel import schedule_kernel


def fuse_kernels(program: Program, target: VectorTarget) -> None:
    """Joins what can be joined in every function of the program."""
    joiner = _Joiner(target)
    for f in program.functions.values():
        mentions = mentions_of(f)
        for body in straight_bodies(f):
            body[:] = joiner.joined(body, mentions)
    program.kernels = kernels_in_use(program)


def straight_bodies(f: HostFunction) -> Iterator[list]:
    """Lists of steps that run one after the other."""
    yield f.body
    for s in steps(f.body):
        if isinstance(s, Branch):
            yield s.then
            yield s.other
        elif isinstance(s, Loop):
            yield from s.bodies


def mentions_of(f: HostFunction) -> dict[Slot, set[int]]:
    """For each slot the steps, by identity, that name it; parameters and results name theirs too."""
    found: dict[Slot, set[int]] = {}
    for s in steps(f.body):
        for slot in (*s.reads, *s.writes):
            found.setdefault(slot.resolve(), set()).add(id(s))
    for slot in (*f.params, *f.results):
        found.setdefault(slot.resolve(), set()).add(0)
    return found


class _Joiner:
    """Joins kernels; of equal pairs one kernel is made."""

    def __init__(self, target: VectorTarget) -> None:
        self.target = target
        self._made: dict[tuple, Kernel | None] = {}
        self._rows: dict[Kernel, int] = {}

    def joined(self, body: Sequence, mentions: dict[Slot, set[int]]) -> list:
        """The steps, with as few kernels as can be."""
        made: list = []
        for s in body:
            both = None
            if made and isinstance(s, RunKernel) and isinstance(made[-1], RunKernel):
                both = self._join(made[-1], s, mentions)
            if both is None:
                made.append(s)
                continue
            for slot in (*both.inputs, *both.outputs):
                names = mentions[slot.resolve()]
                names -= {id(made[-1]), id(s)}
                names.add(id(both))
            made[-1] = both
        return made

    def _join(self, a: RunKernel, b: RunKernel, mentions: dict[Slot, set[int]]) -> RunKernel | None:
        if a.kernel.finished or b.kernel.finished:
            return None
        own = [x.resolve() for x in a.outputs]
        passed = [x for x in own if any(x is y.resolve() for y in b.inputs)]
        rows = self._row_count(a.kernel)
        if not passed or not rows or self._row_count(b.kernel) not in (rows, -1) or rows == -1:
            return None
        pair = {id(a), id(b)}
        inner = [x for x in dict.fromkeys(passed) if x.kind == TEMP and mentions[x] == pair]
        inputs = list(dict.fromkeys(x.resolve() for x in (*a.inputs, *b.inputs) if x.resolve() not in own))
        outputs = [x.resolve() for x in (*a.outputs, *b.outputs) if x.resolve() not in inner]
        if set(inputs) & set(outputs):
            return None
        order = {x: n for n, x in enumerate((*inputs, *outputs, *inner))}
        wiring = tuple(order[x.resolve()] for s in (a, b) for x in (*s.inputs, *s.outputs))
        key = (a.kernel, b.kernel, wiring, len(inputs), len(outputs))
        if key not in self._made:
            self._made[key] = self._one_kernel(a, b, inputs, outputs, inner)
        kernel = self._made[key]
        return RunKernel(kernel, inputs, outputs, places=a.places + b.places) if kernel is not None else None

    def _row_count(self, kernel: Kernel) -> int:
        """Into how many rows the kernel's work falls; -1 if it is all element by element, 0 if it does something else."""
        if kernel not in self._rows:
            self._rows[kernel] = row_count(kernel.stages, self.target)
        return self._rows[kernel]

    def _one_kernel(
        self, first: RunKernel, second: RunKernel, inputs: list[Slot], outputs: list[Slot], inner: list[Slot]
    ) -> Kernel | None:
        buffers: dict[Slot, Buffer] = {}
        names = {x: f"p{n}" for n, x in enumerate(inputs)}
        parts: list[AnyForm] = []
        temporaries: list[Buffer] = []
        for s in (first, second):
            replaced: dict[Buffer, Buffer] = {}
            for slot, old in zip((*s.inputs, *s.outputs), s.kernel.params):
                x = slot.resolve()
                scope = Scope.GLOBAL if x in inner else old.scope
                name = _result(s.kernel) if x in inner else names.get(x, old.name)
                new = buffers.setdefault(x, old.replace(name=name, scope=scope))
                if new.shape != old.shape or new.layout != old.layout:
                    return None
                replaced[old] = new
            temporaries += s.kernel.temporaries
            parts += [with_buffers(form, replaced) for form in s.kernel.stages]
        between = [buffers[x] for x in buffers if x in inner]
        params = [buffers[x] for x in (*inputs, *outputs)]
        made = Kernel(
            joined_name((first.kernel, second.kernel)),
            params,
            parts,
            len(outputs),
            temporaries=[*reversed(temporaries), *reversed(between)],
            operators=first.kernel.operators + second.kernel.operators,
            calls=first.kernel.calls + second.kernel.calls,
            macs=first.kernel.macs + second.kernel.macs,
        )
        made = made.replace(in_place=_in_place(made))
        return made if _is_one_loop(fuse_row_loops(schedule_kernel(made, self.target), self.target)) else None


def joined_name(kernels: Sequence[Kernel]) -> str:
    """The name of kernels made one."""
    prefix = "tvmgen_default_fused"
    first, *rest = (k.name for k in kernels)
    return first + "".join(n[len(prefix) :] if n.startswith(prefix) else f"_{n}" for n in rest)


def _result(kernel: Kernel) -> str:
    """A name for the kernel's result: that of its last operator."""
    return kernel.operators[-1].split(".")[-1] if kernel.operators else "value"


def _is_one_loop(kernel: Kernel) -> bool:
    """True if all of the kernel is one loop, and nothing lies in the workspace."""
    return isinstance(kernel.body, For)


def _in_place(kernel: Kernel) -> list[tuple[int, int]]:
    """Pairs (input, output) that may share memory when the stages run one after the other, or row by row: the stage that
    writes the output reads the input at the same place, and those after it do not read it."""
    found = []
    for o, out in enumerate(kernel.outputs):
        writers = [n for n, form in enumerate(kernel.stages) if any(x.buffer is out for x in stores_of(form))]
        if len(writers) != 1:
            continue
        form = kernel.stages[writers[0]]
        if not isinstance(form, Map) or len(form.stores) != 1:
            continue
        store = form.stores[0]
        simplify = simplifier(form.loops)
        place = simplify(out.offset(store.indices))
        later = buffers_read(*kernel.stages[writers[0] + 1 :])
        for i, source in enumerate(kernel.inputs):
            if source.nbytes != out.nbytes or source.dtype != out.dtype or source in later:
                continue
            reads = [e for e in post_order(store.value) if isinstance(e, Load) and e.source is source]
            if reads and all(simplify(source.offset(e.indices)) is place for e in reads):
                found.append((i, o))
    return found
