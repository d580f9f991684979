"""Gradients of operators that add a border to a tensor, cut one off, or write a box into it."""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from ...ir import Expr
from ...ops.base import call
from ...ops.nn.pad import border_source
from ..core.arithmetic import subtract
from ..core.constants import array_constant, has_data, scalar_constant, to_array
from .axis_map import along_axis, copied_along_axis, padded, scattered_along_axis
from .rule import GradientSite, flat, gradient, zeros_like


@gradient("nn.pad")
def pad(s: GradientSite) -> list[Expr]:
    """The inner part, plus the border that was copied from it; of the value, the sum over the border."""
    value = s.args[1]
    widths = [(int(before), int(after)) for before, after in s.attrs.pad_width]
    if s.attrs.pad_mode != "constant":
        return [_bordered(s, widths, s.attrs.pad_mode), zeros_like(value)]
    inner = padded(s.grad, s.dtype, [(-before, -after) for before, after in widths])
    border = subtract(call("sum", s.grad, axis=None), call("sum", inner, axis=None))
    return [inner, call("reshape_like", call("cast_like", border, value), value)]


@gradient("nn.mirror_pad")
def mirror_pad(s: GradientSite) -> list[Expr]:
    """The inner part, to which the mirrored border is added."""
    return [_bordered(s, [(int(before), int(after)) for before, after in s.attrs.pad_width], s.attrs.mode.lower())]


def _bordered(s: GradientSite, widths: Sequence[tuple[int, int]], mode: str) -> Expr:
    grad, inner = s.grad, s.shape()
    shape = list(s.result_shape)
    for axis, (before, after) in reversed(list(enumerate(widths))):
        extent = inner[axis]
        sources = border_source(np.arange(-before, extent + after), extent, mode).tolist()
        grad = copied_along_axis(grad, shape, s.dtype, axis, sources, extent)
        shape[axis] = extent
    return grad


@gradient("slice_like")
def slice_like(s: GradientSite) -> list[Expr]:
    """Zeros behind the part that was cut out."""
    widths = [(0, whole - part) for whole, part in zip(s.shape(), s.result_shape, strict=True)]
    return [padded(s.grad, s.dtype, widths), zeros_like(s.args[1])]


@gradient("split")
def split(s: GradientSite) -> list[Expr]:
    """The gradients of the parts, side by side."""
    return [call("concatenate", s.grad, axis=s.attrs.axis)]


@gradient("strided_set")
def strided_set(s: GradientSite) -> list[Expr]:
    """The gradient outside of the box, zero inside; of the box, the gradient inside."""
    _, v, *bounds = s.args
    outside = call("strided_set", s.grad, zeros_like(v), *bounds)
    return [outside, _box(s), *map(zeros_like, bounds)]


def _box(s: GradientSite) -> Expr:
    """The gradient with respect to the box that is written: the operator itself says where each of its elements goes."""
    known = s.sources[2:]
    if len(known) != 3 or not all(map(has_data, known)):
        return _box_at_a_place_of_the_run(s)
    bounds = [to_array(e) for e in known]  # type: ignore[arg-type]  # constants
    grad, shape, box = s.grad, list(s.shape()), s.shape(1)
    for axis, (extent, length) in enumerate(zip(shape, box, strict=True)):
        sources = s.attrs.evaluate(np.full(extent, -1), np.arange(length), *(b[axis : axis + 1] for b in bounds))
        positions = np.flatnonzero(sources >= 0)
        if not positions.size:
            return zeros_like(s.args[1])
        stride = int(positions[1] - positions[0]) if positions.size > 1 else 1
        grad = along_axis(grad, axis, int(positions[0]), int(positions[-1]) + 1, stride)
        shape[axis] = len(positions)
        grad = copied_along_axis(grad, shape, s.dtype, axis, sources[positions].tolist(), length)
        shape[axis] = length
    return grad


def _box_at_a_place_of_the_run(s: GradientSite) -> Expr:
    """The same where only the run knows the bounds: along each axis, a scatter of the gradient by the positions in the box."""
    lengths = {s.shape(i) for i in (2, 3, 4)}
    if len(lengths) > 1:
        raise s.refuse("needs begin, end and strides of one length")
    ((count,),) = lengths
    grad, shape, box = s.grad, list(s.shape()), s.shape(1)
    for axis, (extent, length) in enumerate(zip(shape, box, strict=True)):
        numbers = array_constant(np.arange(length), "int32")
        nowhere = call("full", scalar_constant(length, "int32"), shape=(extent,), dtype="int32")
        if axis >= count:
            grad = copied_along_axis(
                grad, shape, s.dtype, axis, np.minimum(np.arange(extent), length - 1).tolist(), length
            )
        else:
            positions = s.again(nowhere, numbers, *(along_axis(b, 0, axis, axis + 1) for b in s.args[2:]))
            grad = scattered_along_axis(grad, shape, s.dtype, axis, call("expand_dims", positions, axis=0), length)
        shape[axis] = length
    return grad


@gradient("reverse")
def reverse(s: GradientSite) -> list[Expr]:
    """The gradient in reverse order."""
    return [s.again(s.grad)]


@gradient("reverse_sequence")
def reverse_sequence(s: GradientSite) -> list[Expr]:
    """The gradient of each sequence in reverse order."""
    _, lengths = s.args
    return [s.again(s.grad, lengths), zeros_like(lengths)]


@gradient("sequence_mask")
def sequence_mask(s: GradientSite) -> list[Expr]:
    """The gradient of the steps that stay."""
    _, lengths = s.args
    return [call("sequence_mask", s.grad, lengths, mask_value=0.0, axis=s.attrs.axis), zeros_like(lengths)]


@gradient("trilu")
def trilu(s: GradientSite) -> list[Expr]:
    """The gradient of the triangle that stays."""
    return [s.again(s.grad, s.args[1]), zeros_like(s.args[1])]


@gradient("nn.dilate")
def dilate(s: GradientSite) -> list[Expr]:
    """The gradient without the gaps."""
    strides = [int(v) for v in s.attrs.strides]
    ends = s.result_shape
    if 0 in ends:
        return flat(s)
    begin = (0,) * len(ends)
    taken = call("strided_slice", s.grad, begin=begin, end=ends, strides=tuple(strides), slice_mode="end", axes=None)
    return [taken]


@gradient("nn.fifo_buffer")
def fifo_buffer(s: GradientSite) -> list[Expr]:
    """The gradient of the elements that came in, and of those that stayed, behind zeros for the ones that dropped out."""
    data, buffer = s.args
    shape = s.shape(1)
    axis = s.attrs.axis % len(shape)
    new, extent = s.shape()[axis], shape[axis]
    fresh = call("cast_like", along_axis(s.grad, axis, extent - new, extent), data)
    if new == extent:
        return [fresh, zeros_like(buffer)]
    older = along_axis(s.grad, axis, 0, extent - new)
    widths = [(new, 0) if a == axis else (0, 0) for a in range(len(shape))]
    return [fresh, padded(older, s.result_dtype, widths)]
