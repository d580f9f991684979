"""Gradients of convolutions, plain and transposed, in one, two and three dimensions, in every order of axes.

A transposed convolution is the gradient of a convolution by its data, and the other way round. The gradient by the weights is
`nn.conv2d_backward_weight` for all of them: with one spatial axis the other is 1, and with three the first is a sum over its
taps, each of images of the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...ir import Expr, TensorType, Tuple
from ...ops.base import call
from ...ops.nn.geometry import pad_amounts
from .axis_map import along_axis, padded_along_axis
from .relayout import in_layouts
from .rule import GradientRule, GradientSite, gradient

_SPATIAL = "DHW"


@gradient("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
def convolution(s: GradientSite) -> list[Expr]:
    """A transposed convolution for the data, a correlation of data and gradient for the weights."""
    if _in_blocks(s):
        return _without_blocks(s, convolution)
    c = _Convolution.of(s)
    data, weight = c.data, c.weight
    sizes = zip(c.extents(data), c.extents(data.like(s.grad, s.result_shape, c.out_layout)), strict=True)
    beyond = [
        size - ((out - 1) * stride - sum(pads) + gap * (kernel - 1) + 1)
        for (size, out), stride, pads, gap, kernel in zip(
            sizes, c.strides, c.pads, c.dilation, c.extents(weight), strict=True
        )
    ]
    of_data = call(
        f"nn.conv{c.rank}d_transpose",
        s.grad,
        weight.value,
        strides=s.attrs.strides,
        padding=c.padding,
        dilation=s.attrs.dilation,
        groups=c.groups,
        output_padding=beyond,
        kernel_layout=_swapped(weight.layout) if c.rank == 2 else weight.layout,
        data_layout=c.out_layout,
        out_layout=data.layout if data.layout != c.out_layout else "",
        out_dtype=c.dtype,
        channels=None,
        kernel_size=None,
    )
    grad = data.like(s.grad, s.result_shape, c.out_layout)
    of_weight = _of_weight(s, c, grad, data, weight.layout)
    return c.back(of_data, of_weight)


@gradient("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed_convolution(s: GradientSite) -> list[Expr]:
    """A convolution for the data, a correlation of gradient and data for the weights."""
    if _in_blocks(s):
        return _without_blocks(s, transposed_convolution)
    c = _Convolution.of(s)
    data, weight = c.data, c.weight
    grad = data.like(s.grad, s.result_shape, c.out_layout)
    pads = list(c.pads)
    for k, (more, stride, (before, after)) in enumerate(zip(s.attrs.output_padding, c.strides, c.pads, strict=True)):
        if more < stride:
            continue
        # The convolution would have more windows than the data has elements: those behind the last one are taken away.
        pads[k] = (before, max(after - int(more), 0))
        if more > after:
            axis = c.out_layout.index(_SPATIAL[-c.rank :][k])
            extent = grad.shape[axis] - (int(more) - after)
            shape = tuple(extent if a == axis else d for a, d in enumerate(grad.shape))
            grad = _Stored(along_axis(grad.value, axis, 0, extent), shape, c.out_layout)
    c = replace(c, pads=tuple(pads))
    kernel_layout = _swapped(weight.layout) if c.rank == 2 else weight.layout
    of_data = call(
        f"nn.conv{c.rank}d",
        grad.value,
        weight.value,
        strides=s.attrs.strides,
        padding=c.padding,
        dilation=s.attrs.dilation,
        groups=c.groups,
        channels=data.extent("C"),
        kernel_size=tuple(c.extents(weight)),
        data_layout=c.out_layout,
        kernel_layout=kernel_layout,
        out_layout=data.layout if data.layout != c.out_layout else "",
        out_dtype=c.dtype,
    )
    return c.back(of_data, _of_weight(s, c, data, grad, kernel_layout))


def _in_blocks(s: GradientSite) -> bool:
    """True if a tensor is stored in blocks of an axis, such as `NCHW16c`."""
    return any(len(layout) > len(layout.primals) for layout in s.attrs.layouts())


def _without_blocks(s: GradientSite, rule: GradientRule) -> list[Expr]:
    layouts = s.attrs.layouts()
    return in_layouts(s, [layout.name for layout in layouts], [layout.primals for layout in layouts], rule)


@dataclass(frozen=True)
class _Stored:
    """A tensor and the meaning of its axes, one letter each."""

    value: Expr
    shape: tuple[int, ...]
    layout: str

    def extent(self, letter: str) -> int:
        return self.shape[self.layout.index(letter)]

    def like(self, value: Expr, shape: tuple[int, ...], layout: str) -> _Stored:
        return _Stored(value, shape, layout)

    def in_order(self, layout: str) -> _Stored:
        """The tensor with its axes in another order."""
        if layout == self.layout:
            return self
        order = [self.layout.index(letter) for letter in layout]
        return _Stored(call("transpose", self.value, axes=order), tuple(self.shape[a] for a in order), layout)


@dataclass(frozen=True)
class _Convolution:
    """A convolution whose weights have one axis of channels that come in and one of those that go out.

    Attributes:
        data: the data, in the dtype of the result.
        weight: the weights, without an axis of groups.
        out_layout: the layout of the result, and of its gradient.
        pads: before and after each spatial axis.
        dtype: the dtype of the result.
        back: the gradients of data and weights as those of the arguments.
    """

    rank: int
    data: _Stored
    weight: _Stored
    out_layout: str
    strides: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int
    dtype: str
    back: Callable[[Expr, Expr], list[Expr]]

    @property
    def padding(self) -> tuple[int, ...]:
        """The padding as TVM writes it, all before and all after."""
        return (*(before for before, _ in self.pads), *(after for _, after in self.pads))

    def extents(self, tensor: _Stored) -> list[int]:
        """The spatial extents."""
        return [tensor.extent(letter) for letter in _SPATIAL[-self.rank :]]

    @staticmethod
    def of(s: GradientSite) -> _Convolution:
        a = s.attrs
        rank = int(a.rank)
        data_layout, kernel_layout, out_layout = (layout.name for layout in a.layouts())
        dtype = s.result_dtype
        values, shapes = [], (s.shape(), s.shape(1))
        for value, type_ in zip(s.args, s.types, strict=True):
            assert isinstance(type_, TensorType)
            values.append(value if type_.dtype == dtype or rank == 2 else call("cast", value, dtype=dtype))
        data = _Stored(values[0], shapes[0], data_layout)
        weight, restored = _without_groups(_Stored(values[1], shapes[1], kernel_layout), a.groups)
        channels = s.result_shape[out_layout.index("C")]
        if not hasattr(a, "output_padding") and weight.extent("O") != channels:  # a multiplier for each channel
            multiplied = weight.in_order("OI" + _SPATIAL[-rank:])
            shape = (channels, 1, *multiplied.shape[2:])
            flat = call("reshape", multiplied.value, newshape=shape)
            back_to = weight.layout
            weight = _Stored(flat, shape, multiplied.layout)

            def restored(grad: Expr) -> Expr:
                own = _Stored(call("reshape", grad, newshape=multiplied.shape), multiplied.shape, multiplied.layout)
                return own.in_order(back_to).value

        def back(of_data: Expr, of_weight: Expr) -> list[Expr]:
            gradients = []
            for g, x, t in zip((of_data, restored(of_weight)), s.args, s.types, strict=True):
                assert isinstance(t, TensorType)
                gradients.append(g if t.dtype == dtype else call("cast_like", g, x))
            return gradients

        pads = tuple((int(before), int(after)) for before, after in pad_amounts(a.padding, rank))
        return _Convolution(
            rank=rank,
            data=data,
            weight=weight,
            out_layout=out_layout,
            strides=tuple(map(int, a.strides)),
            pads=pads,
            dilation=tuple(map(int, a.dilation)),
            groups=int(a.groups),
            dtype=dtype,
            back=back,
        )


def _without_groups(weight: _Stored, groups: int) -> tuple[_Stored, Callable[[Expr], Expr]]:
    """Weights whose axis of groups is part of the first axis of channels, and their gradient as it was stored."""
    if "G" not in weight.layout:
        return weight, lambda grad: grad
    outer = "O"
    rest = [c for c in weight.layout if c not in "G"]
    order = ["G", outer, *(c for c in rest if c != outer)]
    grouped = weight.in_order("".join(order))
    shape = (groups * grouped.shape[1], *grouped.shape[2:])
    merged = _Stored(call("reshape", grouped.value, newshape=shape), shape, grouped.layout[1:])

    def restored(grad: Expr) -> Expr:
        own = _Stored(call("reshape", grad, newshape=grouped.shape), grouped.shape, grouped.layout)
        return own.in_order(weight.layout).value

    return merged, restored


def _swapped(layout: str) -> str:
    """A layout of weights with the letters of the channels that come in and go out exchanged."""
    return layout.translate(str.maketrans("OI", "IO"))


def _of_weight(s: GradientSite, c: _Convolution, grad: _Stored, data: _Stored, layout: str) -> Expr:
    """The gradient by the weights, in `layout`, of a convolution of `data` whose result has the gradient `grad`."""
    kernel = c.extents(c.weight)
    if c.rank == 1:
        grad, data = (_with_height(t) for t in (grad, data))
        wide = _with_letter(layout)
        of_weight = _of_images(c, grad, data, [1, *kernel], wide, (1, *c.strides), ((0, 0), *c.pads), (1, *c.dilation))
        return call("squeeze", of_weight, axis=(wide.index("H"),))
    if c.rank == 2:
        return _of_images(c, grad, data, kernel, layout, c.strides, c.pads, c.dilation, s)
    # Depth becomes part of the batch.
    grad, data = grad.in_order(_depth_outside(grad.layout)), data.in_order(_depth_outside(data.layout))
    steps = grad.shape[1]
    grad = _flat(grad)
    whole = padded_along_axis(data.value, 5, c.dtype, 1, *c.pads[0])
    taps = []
    for k in range(kernel[0]):
        first = k * c.dilation[0]
        images = along_axis(whole, 1, first, first + (steps - 1) * c.strides[0] + 1, c.strides[0])
        one = _flat(_Stored(images, (data.shape[0], steps, *data.shape[2:]), data.layout))
        flat_layout = layout.replace("D", "")
        taps.append(_of_images(c, grad, one, kernel[1:], flat_layout, c.strides[1:], c.pads[1:], c.dilation[1:]))
    return call("stack", Tuple(tuple(taps)), axis=layout.index("D"))


def _with_letter(layout: str) -> str:
    return layout.replace("W", "HW")


def _with_height(tensor: _Stored) -> _Stored:
    """A tensor with one spatial axis as images of height 1."""
    axis = tensor.layout.index("W")
    shape = (*tensor.shape[:axis], 1, *tensor.shape[axis:])
    return _Stored(call("expand_dims", tensor.value, axis=axis), shape, _with_letter(tensor.layout))


def _depth_outside(layout: str) -> str:
    return "ND" + layout.replace("N", "").replace("D", "")


def _flat(tensor: _Stored) -> _Stored:
    """A batch of volumes as one of images."""
    shape = (tensor.shape[0] * tensor.shape[1], *tensor.shape[2:])
    return _Stored(call("reshape", tensor.value, newshape=shape), shape, tensor.layout.replace("D", ""))


def _of_images(
    c: _Convolution,
    grad: _Stored,
    data: _Stored,
    kernel: Sequence[int],
    layout: str,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    s: GradientSite | None = None,
) -> Expr:
    """`nn.conv2d_backward_weight`; with attributes as TVM writes them for a convolution `s`."""
    channels: int | None = grad.extent("C")
    padding: tuple[int, ...] = (*(before for before, _ in pads), *(after for _, after in pads))
    if s is not None and s.attrs.name == "nn.conv2d":
        padding = s.attrs.padding
        if s.attrs.channels is not None or c.groups == 1:
            channels = s.attrs.channels
    return call(
        "nn.conv2d_backward_weight",
        grad.value,
        data.value,
        strides=tuple(strides),
        padding=padding,
        dilation=tuple(dilation),
        groups=c.groups,
        channels=channels,
        kernel_size=tuple(kernel),
        data_layout=grad.layout,
        kernel_layout=data.layout,
        out_layout=layout,
        out_dtype=c.dtype,
    )
