"""Reads of images in the shape of their producer, through reshapes.

    for g, k, y, x: acc += p[g, k, y, x]           p: (16, 4, 56, 56), which a kernel has computed as (64, 56, 56)

    ⇒   for g, k, y, x: acc += p[g * 4 + k, y, x]

Tensors that kernels read under several shapes stay row-major, and so do all tensors that share a kernel with them. A group
normalisation reads its channels as groups of channels: it would keep the convolutions around it from blocks of channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...tir.expr import QUOTIENTS, Binary, Expr, Load, const, post_order
from ...tir.forms import AnyForm, LoopForm, Steps, buffers_read, rewrite_loads
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..core.program_rewriter import ProgramRewriter

IMAGE_AXES = 4
"""The fewest axes of an image: batch, channels, rows and columns."""

Shape = tuple[int, ...]

IndicesOf = Callable[[Sequence[Expr], Simplifier], Sequence[Expr] | None]


def read_canonical_views(program: Program, target: VectorTarget) -> None:
    """Makes kernels read images in the shape of their producer, if that needs no divisions of indices."""
    with ProgramRewriter(program) as rewriter:
        for k, calls in rewriter.open_kernels():
            rewriter.replace(calls, _in_own_shapes(k, calls))


def _in_own_shapes(k: Kernel, runs: Sequence[RunKernel]) -> Kernel:
    for n, b in enumerate(k.inputs):
        slots = [s.inputs[n].resolve() for s in runs]
        shape = slots[0].shape
        if shape == b.shape or len(shape) < IMAGE_AXES or any(s.kind != TEMP or s.shape != shape for s in slots):
            continue
        k = reading_own_shape(k, n, shape) or k
    return k


def reading_own_shape(k: Kernel, n: int, shape: Shape) -> Kernel | None:
    """The kernel with an input of another shape; None if that needs divisions."""
    b = k.inputs[n]
    own = b.replace(shape=shape)
    return with_input(k, n, own, lambda indices, simplify: reshaped(indices, b.shape, own.shape, simplify))


def with_input(k: Kernel, n: int, source: Buffer, indices_of: IndicesOf) -> Kernel | None:
    """The kernel that reads another buffer in the place of an input; None if that needs divisions.

    Args:
        indices_of: the indices of an element in `source`, by those in the input; None if there are none.
    """
    b = k.inputs[n]
    stages: list[AnyForm] = []
    for form in k.stages:
        if b not in buffers_read(form):
            stages.append(form)
            continue
        if isinstance(form, Steps) or (changed := _form_with_input(form, b, source, indices_of)) is None:
            return None
        stages.append(changed)
    return k.with_stages(stages, params=[source if p is b else p for p in k.params])


def _form_with_input(form: LoopForm, b: Buffer, source: Buffer, indices_of: IndicesOf) -> LoopForm | None:
    simplify = simplifier(form.loops, form.inner)
    fits = True

    def read(e: Load) -> Expr:
        nonlocal fits
        if e.source is not b:
            return e
        indices = indices_of(e.indices, simplify)
        fits = fits and indices is not None and _divisions(indices) <= _divisions(e.indices)
        return Load(source, tuple(indices)) if indices is not None else e

    changed: LoopForm = rewrite_loads(form, read)
    return changed if fits else None


def _divisions(indices: Sequence[Expr]) -> int:
    return sum(isinstance(e, Binary) and e.op in QUOTIENTS for e in post_order(*indices))


def reshaped(indices: Sequence[Expr], old: Shape, new: Shape, simplify: Simplifier) -> list[Expr] | None:
    """The indices of an element in another shape of the same size; None if the shapes have no axes in common."""
    digits: list[Expr] = []
    old_axis, to = 0, 0
    while old_axis < len(old) or to < len(new):
        first, start = old_axis, to
        before, after = 1, 1
        if old_axis < len(old):
            before, old_axis = old[old_axis], old_axis + 1
        if to < len(new):
            after, to = new[to], to + 1
        while before != after:
            if before < after and old_axis < len(old):
                before, old_axis = before * old[old_axis], old_axis + 1
            elif after < before and to < len(new):
                after, to = after * new[to], to + 1
            else:
                return None
        digits += _digits(indices[first:old_axis], old[first:old_axis], new[start:to], simplify)
    return digits


def _digits(indices: Sequence[Expr], old: Shape, new: Shape, simplify: Simplifier) -> list[Expr]:
    """The indices along the axes `new` for indices along the axes `old`, which have the same number of elements."""
    place: Expr = const(0)
    for i, n in zip(indices, old, strict=True):
        place = place * n + i
    digits: list[Expr] = []
    for n in reversed(new):
        digits.append(simplify(place % n) if n != 1 and len(new) > 1 else const(0) if n == 1 else simplify(place))
        place = place // n
    return digits[::-1]
