"""Slices of constants: each stage gets the elements that it reads, in the order of its reads.

    for k: a += x[y + k] * w[3 - 2 * k]; …; for k: b += x[y + k] * w[2 - 2 * k]
    ⇒   for k: a += x[y + k] * wa[k]; …; for k: b += x[y + k] * wb[k]                      (wa = w[3], w[1]; wb = w[2], w[0])

Stages that read different elements, such as the phases of a transposed convolution, get a slice each, which they read from end to
end: each slice has its own layout, and each stage its own algorithm. Stages that read some elements in common share a slice, such
as the centre of a window whose border is padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...symbolic_int import as_integer, bound, is_known
from ...tir.expr import Expr, Load, const
from ...tir.forms import AnyForm, Map, Reduction, rewrite_form
from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel, Slot, constant_inputs
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import MOST_LEFT


@dataclass(frozen=True)
class Slice:
    """Elements of a constant: for each axis, evenly spaced indices in the order of the reads."""

    axes: tuple[range, ...]

    @property
    def shape(self) -> list[int]:
        """Elements along each axis."""
        return [len(a) for a in self.axes]

    def is_apart_from(self, other: Slice) -> bool:
        """True if the slices have no element in common."""
        return any(not {*a} & {*b} for a, b in zip(self.axes, other.axes))

    def united(self, other: Slice) -> Slice:
        """The smallest slice with the elements of both, in ascending order along axes that differ."""
        return Slice(
            tuple(
                a if a == b else range(min(*a, *b), max(*a, *b) + 1) for a, b in zip(self.axes, other.axes, strict=True)
            )
        )

    def index(self, indices: Sequence[Expr], simplify: Simplifier) -> list[Expr]:
        """The indices in the slice of an element of the constant."""
        return [_in_range(i, a, simplify) for i, a in zip(indices, self.axes, strict=True)]


def slice_constants(program: Program, target: VectorTarget) -> None:
    """Gives the stages of kernels the slices of constants that they read."""
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            for b in constant_inputs(calls):
                slices = _slices(b, kernel.stages)
                if slices is not None and _pays(b, slices, kernel.stages):
                    kernel = _sliced(kernel, calls, b, slices, rewriter)


def _slices(b: Buffer, forms: Sequence[AnyForm]) -> dict[int, Slice] | None:
    """The slice of each stage, by its number; stages that read some elements in common have the same one. None if it is not
    known."""
    slices: dict[int, Slice] = {}
    for n, form in enumerate(forms):
        if not isinstance(form, Map | Reduction):
            return None
        simplify = simplifier(form.loops, form.inner)
        for e in _reads(form):
            if e.source is not b:
                continue
            axes = [_range(i, size, simplify, form) for i, size in zip(e.indices, b.shape, strict=True)]
            if any(a is None or not a for a in axes):
                return None
            own = Slice(tuple(a for a in axes if a is not None))
            # A stage has one slice for all that it reads of the constant.
            while others := [m for m, s in slices.items() if s != own and (m == n or not s.is_apart_from(own))]:
                for m in others:
                    own = own.united(slices[m])
                for m in others:
                    slices[m] = own
            slices[n] = own
    return slices or None


def _reads(form: Map | Reduction) -> list[Load]:
    update = (form.init, form.update, *form.guards) if isinstance(form, Reduction) else ()
    return loads(*update, *(e for s in form.stores for e in (*s.indices, s.value)))


def _range(i: Expr, size: int, simplify: Simplifier, form: Map | Reduction) -> range | None:
    """The indices along an axis of `size` elements; None if they are not known."""
    terms, rest = simplify.linear(i)
    extents: dict[Expr, int] = dict((*form.loops, *form.inner))
    if len(terms) <= 1 and terms.keys() <= extents.keys():
        step, count = next(((as_integer(k), bound(extents[v])) for v, k in terms.items()), (1, 1))
        first = as_integer(rest)
        if is_known(first) and is_known(step):
            exact = range(first, first + step * count, step)
            if min(exact[0], exact[-1]) >= 0 and max(exact[0], exact[-1]) < size:
                return exact
    low, high = simplify.range(simplify(i))
    if math.isinf(low) or math.isinf(high):
        return None
    return range(max(0, -bound(-as_integer(low))), min(size, bound(as_integer(high)) + 1))


def _in_range(i: Expr, a: range, simplify: Simplifier) -> Expr:
    """The position of an index in a range."""
    if a.step == 1:
        return simplify(i - a.start)
    terms, rest = simplify.linear(i)
    number: Expr = const((as_integer(rest) - a.start) // a.step)
    for v, k in terms.items():
        number = number + v * (as_integer(k) // a.step)
    return simplify(number)


def _pays(b: Buffer, slices: dict[int, Slice], forms: Sequence[AnyForm]) -> bool:
    """True if stages read slices in another order than the constant has, or if the slices are much smaller than the constant."""
    different = list(dict.fromkeys(slices.values()))
    if sum(math.prod(s.shape) for s in different) <= MOST_LEFT * b.size:
        return True
    if b.dtype != "float32":
        return False  # packed words contain all bytes
    if any(s.axes == tuple(map(range, b.shape)) for s in different):
        return False
    alone = [forms[n] for n in slices if list(slices.values()).count(slices[n]) == 1]
    return len(alone) == len(slices) and all(
        isinstance(f, Reduction) and sum(e.source is b for e in _reads(f)) == 1 for f in alone
    )


def _sliced(
    kernel: Kernel, calls: list[RunKernel], b: Buffer, slices: dict[int, Slice], rewriter: ProgramRewriter
) -> Kernel:
    """The kernel with a parameter for each slice, the first in place of the constant; its calls pass the slices."""
    number = kernel.inputs.index(b)
    new = {s: b.replace(shape=s.shape) for s in slices.values()}
    stages = [_reading(f, b, slices[n], new[slices[n]]) if n in slices else f for n, f in enumerate(kernel.stages)]
    first, *others = new.values()
    inputs = [first if i is b else i for i in kernel.inputs]
    changed = kernel.replace(params=[*inputs, *others, *kernel.outputs], stages=stages)
    for s in calls:
        whole = s.inputs[number].resolve()
        own = [_constant(rewriter, whole, part, n if others else None) for n, part in enumerate(new)]
        s.inputs = [*s.inputs[:number], own[0], *s.inputs[number + 1 :], *own[1:]]
    rewriter.replace(calls, changed)
    return changed


def _reading(form: AnyForm, whole: Buffer, s: Slice, new: Buffer) -> AnyForm:
    """The stage with reads of a slice in place of the constant."""
    assert isinstance(form, Map | Reduction)
    simplify = simplifier(form.loops, form.inner)

    def change(e: Expr) -> Expr:
        return Load(new, tuple(s.index(e.indices, simplify))) if isinstance(e, Load) and e.source is whole else e

    return rewrite_form(form, change)


def _constant(rewriter: ProgramRewriter, whole: Slot, s: Slice, number: int | None) -> Slot:
    def compute(data: Any) -> Any:
        import numpy as np

        return np.ascontiguousarray(np.asarray(data)[np.ix_(*s.axes)])

    name = whole.name if number is None else f"{whole.name}_{number}"
    return rewriter.derive(whole, ("slice", s.axes), compute, s.shape, name=name)
