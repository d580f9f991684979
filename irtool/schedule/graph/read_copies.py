"""Reads of results and parameters in their own order, in the place of copies that only their readers need.

    for h, s, d: t[h, s, d] = cache[0, h, s, d]               cache: (1, 12, 512, 64), t: (12, past + 1, 64)
    for h, s: for d: acc += q[h, d] * t[h, s, d]

    ⇒   for h, s: for d: acc += q[h, d] * cache[0, h, s, d]

Where a caller or an instance has a tensor, its order is fixed, and no producer can store it otherwise. A copy that keeps the innermost axis gains
its readers nothing. One with another innermost axis is left out for sums that read each element too seldom for a copy to pay
(see `transpose_operands`, which makes such copies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...symbolic_int import bound
from ...tir.expr import Expr, Load, Var, substitution
from ...tir.forms import Map, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import PARAM, RESULT, TEMP, Program, RunKernel
from ...tir.simplify import Simplifier
from ...tir.vector_target import VectorTarget
from ..core.affine import depends
from .canonical_views import reading_own_shape, with_input
from .step_lists import Mentions, rewrite_step_lists

Changed = dict[tuple[Kernel, Kernel, tuple[int, ...]], Kernel | None]
"""The kernels in the place of others, by the kernel of the copy, and the numbers of the inputs that were copied."""


def read_copies_in_place(program: Program, target: VectorTarget) -> None:
    """Makes kernels read the sources of copies, and removes copies without readers."""
    changed: Changed = {}
    rewrite_step_lists(program, lambda body, mentions: _without_copies(body, mentions, target, changed))


def _without_copies(body: list, mentions: Mentions, target: VectorTarget, changed: Changed) -> None:
    for copy in [s for s in body if isinstance(s, RunKernel)]:
        if _is_unread(copy, mentions):  # such as a tensor of which a reader needs the shape alone
            mentions.fused([copy], RunKernel(copy.kernel, [], []))
            body.remove(copy)
            continue
        rows = _copied(copy)
        slot = copy.outputs[0].resolve()
        if rows is None or slot.kind != TEMP:
            continue
        readers = [s for s in body if isinstance(s, RunKernel) and any(x.resolve() is slot for x in s.inputs)]
        if not readers or not mentions.are_all(slot, [copy, *readers]):
            continue
        kernels = [_reading(s, copy, rows, target, changed) for s in readers]
        if any(k is None for k in kernels):
            continue
        for s, kernel in zip(readers, kernels, strict=True):
            assert kernel is not None
            reader = RunKernel(
                kernel,
                [copy.inputs[0] if x.resolve() is slot else x for x in s.inputs],
                s.outputs,
                s.workspace,
                s.places,
            )
            mentions.fused([s], reader)
            body[body.index(s)] = reader
        mentions.fused([copy], RunKernel(copy.kernel, [], []))
        body.remove(copy)


def _is_unread(s: RunKernel, mentions: Mentions) -> bool:
    """True for a step none of whose results another step or the caller names."""
    slots = [x.resolve() for x in s.outputs]
    return bool(slots) and all(x.kind == TEMP and mentions.are_all(x, [s]) for x in slots)


@dataclass(frozen=True)
class _Copy:
    """The loops of a copy, in the order of the axes of its result, and the element that it reads."""

    loops: tuple[Var, ...]
    load: Load

    @property
    def keeps_innermost(self) -> bool:
        """True if neighbours along the last axis of the result are neighbours in the source."""
        *others, last = self.load.indices
        return last is self.loops[-1] and not any(depends(i, self.loops[-1]) for i in others)


def _copied(s: RunKernel) -> _Copy | None:
    """The copy of elements of a parameter or a result, each to one place, that a step makes; None for other steps."""
    k = s.kernel
    if k.finished or len(s.inputs) != 1 or len(s.outputs) != 1 or s.inputs[0].resolve().kind not in (PARAM, RESULT):
        return None
    if len(k.stages) != 1 or not isinstance(form := k.stages[0], Map) or len(form.stores) != 1:
        return None
    (store,) = form.stores
    places = [v for v, _ in form.loops]
    load = store.value
    if not isinstance(load, Load) or load.source is not k.inputs[0] or not load.indices or not places:
        return None
    if len(store.indices) != len(places) or any(i is not v for i, v in zip(store.indices, places)):
        return None
    if any(n != d for (_, n), d in zip(form.loops, store.buffer.shape)):
        return None
    return _Copy(tuple(places), load)


def _reading(s: RunKernel, copy: RunKernel, rows: _Copy, target: VectorTarget, changed: Changed) -> Kernel | None:
    """The kernel of a reader that reads the source; None if that needs divisions, or if the copy may pay."""
    slot, source = copy.outputs[0].resolve(), copy.inputs[0].resolve()
    if s.kernel.finished or source in [x.resolve() for x in s.outputs]:
        return None
    numbers = tuple(n for n, x in enumerate(s.inputs) if x.resolve() is slot)
    key = s.kernel, copy.kernel, numbers
    if key not in changed:
        kernel: Kernel | None = s.kernel
        for n in numbers:
            kernel = kernel and _with_input(kernel, n, slot.shape, rows, target)
        changed[key] = kernel
    return changed[key]


def _with_input(k: Kernel, n: int, shape: Sequence[int], rows: _Copy, target: VectorTarget) -> Kernel | None:
    own = reading_own_shape(k, n, tuple(shape))
    if own is None or not (rows.keeps_innermost or _reads_seldom(own, n, target)):
        return None
    source = rows.load.source.replace(name=own.inputs[n].name)
    return with_input(own, n, source, lambda place, simplify: _indices(place, rows, simplify))


def _reads_seldom(k: Kernel, n: int, target: VectorTarget) -> bool:
    """True if only sums read the input, and each element too few times for a copy to pay."""
    b = k.inputs[n]
    readers = [f for f in k.stages if b in buffers_read(f)]
    return all(isinstance(f, Reduction) and f.work < target.copied_reads * bound(b.size) for f in readers)


def _indices(place: Sequence[Expr], rows: _Copy, simplify: Simplifier) -> tuple[Expr, ...]:
    """The indices of the element that the copy has at a place."""
    values = substitution(dict(zip(rows.loops, place, strict=True)))
    return tuple(simplify(values(i)) for i in rows.load.indices)
