"""Gradients of operators whose elements are rearranged in ways that only the operators know: views by windows, reorderings of one image."""

from __future__ import annotations

from math import prod

from ...deferred import np
from ...ir import Expr
from ...ops.base import call
from ..core.constants import array_constant
from ..core.reshaping import reshape_to
from .axis_map import copied_along_axis
from .rule import GradientSite, flat, gradient


@gradient("sliding_window")
def sliding_window(s: GradientSite) -> list[Expr]:
    """The sum over all windows that an element is in, one axis after the other."""
    a, shape = s.attrs, s.shape()
    first, count = a.axis % len(shape), len(a.window_shape)
    grad, extents = s.grad, list(s.result_shape)
    if 0 in extents or 0 in shape:
        return flat(s)
    for k in range(count):  # the windows of an axis stand behind those of the axes that are left
        axis, taps = first + k, first + count
        order = [*range(axis + 1), taps, *range(axis + 1, taps), *range(taps + 1, len(extents))]
        grad = call("transpose", grad, axes=tuple(order))
        extents = [extents[i] for i in order]
        positions, window = extents[axis], extents[axis + 1]
        extents[axis : axis + 2] = [positions * window]
        sources = (np.arange(positions)[:, None] * a.strides[k] + np.arange(window)).reshape(-1)
        grad = reshape_to(grad, extents)
        grad = copied_along_axis(grad, extents, s.dtype, axis, sources.tolist(), shape[axis])
        extents[axis] = shape[axis]
    return [grad]


@gradient("vision.yolo_reorg")
def yolo_reorg(s: GradientSite) -> list[Expr]:
    """Each element back to its place in the image."""
    batch, *image = s.shape()
    sources = s.attrs.evaluate(np.arange(prod(image)).reshape(1, *image)).reshape(-1)
    rows = reshape_to(s.grad, (batch, prod(image)))
    back = call("take", rows, array_constant(np.argsort(sources), "int32"), axis=1)
    return [reshape_to(back, s.shape())]


@gradient("vision.multibox_prior")
def multibox_prior(s: GradientSite) -> list[Expr]:
    """0: the data only give a shape."""
    return flat(s)
