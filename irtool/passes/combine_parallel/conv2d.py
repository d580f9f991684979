"""CombineParallelConv2D: convolutions of one input become one wide convolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...ir import Call, Expr, Function, Module
from ...ops.layout import LayoutError, convert_shape
from ..core.base import FunctionPass, register_pass
from ..core.context import PassContext
from .branches import Combiner, Group, combine_parallel, concatenate, extent, take_slice, tensor


@register_pass("CombineParallelConv2D", level=4, required=("InferType",), info_name="CombineParallelConv2d")
@dataclass(frozen=True)
class CombineParallelConv2D(FunctionPass):
    """Combines parallel convolutions and subsequent elementwise operators into one convolution with all filters.

    ::

        (nn.relu(nn.conv2d(%x, %w1)), nn.relu(nn.conv2d(%x, %w2)))
            ⇒  %0 = nn.relu(nn.conv2d(%x, concatenate((%w1, %w2))))
               (strided_slice(%0, …), strided_slice(%0, …))

    Strides, padding, dilation, layouts and kernel extents must agree, layouts must have no blocks, and there must be one
    group.

    Options:
        min_num_branches: minimum number of parallel convolutions to combine.
    """

    min_num_branches: int = 3

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return combine_parallel(function, _Conv2D(), self.min_num_branches)


_SAME = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_dtype", "out_layout")


class _Conv2D(Combiner):
    operator = "nn.conv2d"

    def is_supported(self, e: Call) -> bool:
        layouts = (e.attrs.data_layout, e.attrs.kernel_layout, e.attrs.out_layout)
        return super().is_supported(e) and e.attrs.groups == 1 and all(x.isupper() for x in layouts if x)

    def are_compatible(self, a: Call, b: Call) -> bool:
        if any(getattr(a.attrs, f) != getattr(b.attrs, f) for f in _SAME):
            return False
        if tensor(a.args[1]).dtype != tensor(b.args[1]).dtype:
            return False
        try:
            shapes = [convert_shape(tensor(e.args[1]).shape, e.attrs.kernel_layout, "OIHW") for e in (a, b)]
        except LayoutError:
            return False
        return shapes[0][2:4] == shapes[1][2:4]

    def combine(self, branches: Group) -> Call:
        first = branches[0][0]
        axis = first.attrs.kernel_layout.index("O")
        weight = concatenate([b[0].args[1] for b in branches], axis)
        channels = sum(_filters(b[0]) for b in branches)
        return Call(first.op, (first.args[0], weight), replace(first.attrs, channels=channels))

    def is_arg_compatible(self, branches: Group, a: Call, b: Call, index: int) -> bool:
        channel = _channel_axis(branches)
        shapes = [tensor(e.args[index]).shape for e in (a, b)]
        results = [tensor(e).shape for e in (a, b)]
        if tensor(a.args[index]).dtype != tensor(b.args[index]).dtype or len(shapes[0]) != len(shapes[1]):
            return False
        own_channel = channel - len(results[0]) + len(shapes[0])
        if own_channel < 0 or any(s[own_channel] != r[channel] for s, r in zip(shapes, results, strict=True)):
            return False
        return all(x == y for i, (x, y) in enumerate(zip(*shapes, strict=True)) if i != own_channel)

    def joined_axis(self, branches: Group) -> int:
        return _channel_axis(branches)

    def combine_args(self, branches: Group, depth: int, index: int, parent: int) -> Expr:
        first = branches[0][depth]
        axis = _channel_axis(branches) - len(tensor(first).shape) + len(tensor(first.args[index]).shape)
        return concatenate([b[depth].args[index] for b in branches], axis)

    def split(self, combined: Expr, branches: Group, depth: int) -> list[Expr]:
        channel = _channel_axis(branches)
        parts: list[Expr] = []
        begin = 0
        for branch in branches:
            filters = _filters(branch[0])
            parts.append(take_slice(combined, [0] * channel + [begin], [*[-1] * channel, filters]))
            begin += filters
        return parts


def _filters(e: Call) -> int:
    return extent(e.args[1], e.attrs.kernel_layout.index("O"))


def _channel_axis(branches: Group) -> int:
    attrs = branches[0][0].attrs
    return (attrs.out_layout or attrs.data_layout).index("C")
