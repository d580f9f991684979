"""Fusion of consecutive kernels over the same rows: statistics of rows and their uses.

    m = mean(x)        (a kernel)
    v = variance(x, m) (a kernel)         ⇒      for i: m' = mean(x[i, :]); v' = variance(x[i, :], m');
    y = f(x, m, v)     (a kernel)                       y[i, :] = f(x[i, :], m', v')

A row is then in the L1 cache when it is read again, and what passes from one to the other needs memory for one row.
Kernels are joined only if one loop over rows comes of it, in which every result between them is a local row.
"""

from __future__ import annotations

from ...tir.expr import Load, post_order
from ...tir.forms import AnyForm, Map, buffers_read, stores_of, with_buffers
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, For, Scope
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..cost.row_choice import row_count
from .fuse_row_loops import fuse_row_loops
from .kernel import schedule_kernel
from .step_lists import Mentions, fused_facts, rewrite_step_lists


def fuse_kernels(program: Program, target: VectorTarget) -> None:
    """Joins what can be joined in every function of the program."""
    rewrite_step_lists(program, _Joiner(target).join)


class _Joiner:
    """Joins kernels; of equal pairs one kernel is made."""

    def __init__(self, target: VectorTarget) -> None:
        self.target = target
        self._made: dict[tuple, Kernel | None] = {}
        self._rows: dict[Kernel, int] = {}

    def join(self, body: list, mentions: Mentions) -> None:
        """Lets a list of steps run as few kernels as it can."""
        made: list = []
        for s in body:
            both = None
            if made and isinstance(s, RunKernel) and isinstance(made[-1], RunKernel):
                both = self._joined(made[-1], s, mentions)
            if both is None:
                made.append(s)
                continue
            mentions.fused((made[-1], s), both)
            made[-1] = both
        body[:] = made

    def _joined(self, a: RunKernel, b: RunKernel, mentions: Mentions) -> RunKernel | None:
        if a.kernel.finished or b.kernel.finished:
            return None
        own = [x.resolve() for x in a.outputs]
        passed = [x for x in own if any(x is y.resolve() for y in b.inputs)]
        rows = self._row_count(a.kernel)
        if not passed or not rows or self._row_count(b.kernel) not in (rows, -1) or rows == -1:
            return None
        inner = [x for x in dict.fromkeys(passed) if x.kind == TEMP and mentions.are_all(x, (a, b))]
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
            params=params,
            stages=parts,
            num_outputs=len(outputs),
            temporaries=[*reversed(temporaries), *reversed(between)],
            macs=first.kernel.macs + second.kernel.macs,
            **fused_facts((first.kernel, second.kernel)),
        )
        made = made.replace(in_place=_in_place(made))
        return made if _is_one_loop(fuse_row_loops(schedule_kernel(made, self.target), self.target)) else None


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
