"""Gradients of operators that store the same elements in another order: blocks of pixels, batches, layouts."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ...ops.layout import Layout, convert_shape
from ...ops.shape.relayout import parse_extents
from .axis_map import padded
from .rule import GradientSite, gradient


def _to_data(s: GradientSite, grad: Expr, shape: tuple[int, ...]) -> Expr:
    """`grad`, of `shape`, with zeros for the elements that the operator dropped, and without those that it filled up."""
    return padded(grad, s.dtype, [(0, own - have) for own, have in zip(s.shape(), shape, strict=True)])


@gradient("nn.depth_to_space")
def depth_to_space(s: GradientSite) -> list[Expr]:
    """Blocks of pixels back to channels; zeros for channels that are left over."""
    block, layout = s.attrs.block_size, s.attrs.layout
    axis = Layout.parse(layout).index("C")
    shape = list(s.shape())
    depth = shape[axis] // (block * block)
    shape[axis] = depth * block * block
    grad = call("nn.space_to_depth", s.grad, block_size=block, layout=layout)
    if s.attrs.mode != "DCR":  # the pixel is the inner part of the channel index
        split = (*shape[:axis], block * block, depth, *shape[axis + 1 :])
        order = [*range(axis), axis + 1, axis, *range(axis + 2, len(split))]
        grad = call("reshape", call("transpose", call("reshape", grad, newshape=split), axes=order), newshape=shape)
    return [_to_data(s, grad, tuple(shape))]


@gradient("nn.space_to_depth")
def space_to_depth(s: GradientSite) -> list[Expr]:
    """Channels back to blocks of pixels; zeros for rows and columns that fill no block."""
    block, layout = s.attrs.block_size, s.attrs.layout
    parsed = Layout.parse(layout)
    spatial = [parsed.index("H"), parsed.index("W")]
    shape = tuple(d // block * block if a in spatial else d for a, d in enumerate(s.shape()))
    grad = call("nn.depth_to_space", s.grad, block_size=block, layout=layout, mode="DCR")
    return [_to_data(s, grad, shape)]


@gradient("nn.space_to_batch_nd")
def space_to_batch(s: GradientSite) -> list[Expr]:
    """Blocks back from the batch, without the padding."""
    a = s.attrs
    grad = call("nn.batch_to_space_nd", s.grad, block_shape=a.block_shape, crops=tuple((0, 0) for _ in a.block_shape))
    widths = [(0, 0)] * len(s.shape())
    for axis, (block, (before, after)) in enumerate(zip(a.block_shape, a.paddings, strict=True), 1):
        extent = s.shape()[axis]
        whole = (extent + before + after) // block * block
        widths[axis] = (-int(before), extent + int(before) - whole)
    return [padded(grad, s.dtype, widths)]


@gradient("nn.batch_to_space_nd")
def batch_to_space(s: GradientSite) -> list[Expr]:
    """Blocks back to the batch, with zeros where they were cropped."""
    a = s.attrs
    grad = call("nn.space_to_batch_nd", s.grad, block_shape=a.block_shape, paddings=a.crops, pad_value=0.0)
    blocks = 1
    for block in a.block_shape:
        blocks *= block
    batch, *rest = s.shape()
    return [_to_data(s, grad, (batch // blocks * blocks, *rest))]


@gradient("layout_transform")
def layout_transform(s: GradientSite) -> list[Expr]:
    """The gradient in the argument's layout, without the filling of blocks."""
    source, target = s.attrs.src_layout, s.attrs.dst_layout
    shape = tuple(int(d) for d in convert_shape(s.result_shape, target, source))  # type: ignore[arg-type]  # they are static
    return [_to_data(s, call("layout_transform", s.grad, src_layout=target, dst_layout=source), shape)]


@gradient("auto_scheduler_layout_transform")
def auto_scheduler_layout_transform(s: GradientSite) -> list[Expr]:
    """The parts of each axis side by side again."""
    parts = parse_extents(s.attrs.dst_layout)[0]
    order = [i for name in parse_extents(s.attrs.src_layout)[0] for i, part in enumerate(parts) if part == name]
    return [call("reshape_like", call("transpose", s.grad, axes=order), s.args[0])]
