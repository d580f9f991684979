"""Messages between nodes in scale folding: the axes of a value along which a scale may be moved through it.

A scaled value is a triple of value, axes, and a scale with one dimension for each of the axes: along axis `axes[i]` the
value is still to be multiplied with dimension `i` of the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import Call, Dim, Expr, TensorType
from ...ops.layout import Layout, LayoutError, convert_shape
from ..core.axes import expand_to_axis
from ..core.reshaping import reshape_to


@dataclass(frozen=True)
class Message:
    """The axes, in ascending order, and whether the scale must not change signs (a relu is on the way)."""

    axes: tuple[int, ...]
    require_positive: bool = False


def intersect(a: Message | None, b: Message | None) -> Message | None:
    """The intersection of both; None (nothing may be moved) if either is None."""
    if a is None or b is None:
        return None
    return Message(tuple(x for x in a.axes if x in b.axes), a.require_positive or b.require_positive)


def operand_types(e: Call) -> tuple[TensorType, TensorType]:
    """The types of a call's first two arguments."""
    left, right = e.args[0].checked_type, e.args[1].checked_type
    assert isinstance(left, TensorType) and isinstance(right, TensorType)
    return left, right


def reshape_to_axes(scale: Expr, shape: Sequence[Dim], axes: Sequence[int]) -> Expr | None:
    """`scale` reshaped to 1 everywhere but at `axes` of `shape`; None if one of those is no number."""
    extents: list[int] = []
    for i, d in enumerate(shape):
        if i not in axes:
            extents.append(1)
        elif isinstance(d, int):
            extents.append(d)
        else:
            return None
    return reshape_to(scale, extents)


def to_axes(scale: Expr, shape: Sequence[Dim], axes: Sequence[int]) -> Expr | None:
    """`scale` made to broadcast along `axes` of a tensor of `shape`; None if that cannot be written."""
    if len(axes) > 1:
        return reshape_to_axes(scale, shape, axes)
    return expand_to_axis(scale, len(shape), axes)


@dataclass(frozen=True)
class ConvAxes:
    """The axes of a convolution's channels: of the data (or the result), and of the weights; -1 for none."""

    channels: int
    inner_channels: int
    outputs: int
    inner_outputs: int
    inputs: int
    inner_inputs: int
    depthwise: bool
    rank: int

    @property
    def message(self) -> Message:
        """The scale that the convolution can take up."""
        inner = () if self.inner_channels < 0 else (self.inner_channels,)
        return Message((self.channels, *inner))

    @property
    def is_blocked(self) -> bool:
        """True if the weights are stored in blocks of channels."""
        return self.inner_outputs >= 0


def conv_axes(e: Call, layout: str) -> ConvAxes | None:
    """The axes of convolution `e` whose data (or result) has `layout`; None if it cannot take up a scale.

    It can if it is depthwise or has one group, and if data and weights are both split into blocks or both not.
    """
    attrs: Any = e.attrs
    data, kernel = Layout.parse(layout), Layout.parse(attrs.kernel_layout)
    weight = e.args[1].checked_type
    axes = ConvAxes(
        data.index("C"),
        data.index("c"),
        kernel.index("O"),
        kernel.index("o"),
        kernel.index("I"),
        kernel.index("i"),
        isinstance(weight, TensorType) and _is_depthwise(attrs.groups, weight, kernel),
        len(kernel),
    )
    if attrs.groups != 1 and not axes.depthwise:
        return None
    blocked = [axes.inner_outputs >= 0, axes.inner_inputs >= 0, axes.inner_channels >= 0]
    return axes if axes.inputs >= 0 and axes.channels >= 0 and (all(blocked) or not any(blocked)) else None


def _is_depthwise(groups: int, weight: TensorType, kernel: Layout) -> bool:
    plain = "OI" + "".join(c for c in "DHW" if c in kernel)
    try:
        shape = convert_shape(weight.shape, kernel, Layout.parse(plain))
    except LayoutError:
        return False
    return shape[0] == groups and shape[1] == 1
