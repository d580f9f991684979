"""Quantized matrix products and convolutions as integer arithmetic.

With zero points `zx` and `zw`, Σ (x - zx)(w - zw) = Σ x w - zw Σ x - zx Σ w + n zx zw. The first term is an ordinary product;
the third and fourth do not depend on the input, and constant folding computes them; terms whose zero point is 0 vanish.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...diagnostics import IrError
from ...ir import Expr
from ...ops.base import call
from ...ops.nn.geometry import pad_amounts
from ..core.arithmetic import add, multiply, subtract
from ..core.axes import expand_to_axis
from ..core.constants import same_scalar, scalar_constant
from ..core.reshaping import reshape_to
from .quantities import cast, int32, is_scalar, is_zero
from .rule import QNN_CANONICALIZE, LegalizationSite, legalization


def _sum(e: Expr, axes: list[int], keepdims: bool, dtype: str = "int32") -> Expr:
    return call("sum", cast(e, dtype), axis=axes, keepdims=keepdims, exclude=False)


def _combine(terms: tuple[Expr, Expr, Expr, Expr], zeros: tuple[int, int]) -> Expr:
    """The four terms together; `zeros` are the zero points of data and weights, -1 if not known."""
    first, second, third, fourth = terms
    if zeros == (0, 0):
        return first
    if zeros[0] == 0:
        return subtract(first, second)
    if zeros[1] == 0:
        return subtract(first, third)
    # The terms that are constant stand together, so that constant folding finds them.
    return add(subtract(first, second), subtract(fourth, third))


def _known(e: Expr) -> int:
    return int(e.data)  # type: ignore[attr-defined]  # the data of the constant is there


@legalization(QNN_CANONICALIZE, "qnn.dense")
def dense(s: LegalizationSite) -> Expr:
    """A dense layer minus the terms of the zero points."""
    first = call("nn.dense", *s.args[:2], units=s.attrs.units, out_dtype=s.attrs.out_dtype)
    return _less_zero_points(first, s.args, s.extent(0, 1), s.extent(1, 0), s.attrs.out_dtype)


@legalization(QNN_CANONICALIZE, "qnn.contrib_dense_pack")
def dense_pack(s: LegalizationSite) -> Expr:
    """A dense layer of packed weights minus the terms of the zero points, for which the weights are unpacked."""
    data, weight, *zeros = s.args[:4]
    attrs = s.attrs
    depth, (blocks, _, tile, _) = s.extent(0, 1), s.shape(1)
    attributes = {"units": attrs.units, "out_dtype": attrs.out_dtype, "weight_layout": attrs.weight_layout}
    first = call("nn.contrib_dense_pack", data, weight, **attributes)
    plain = reshape_to(call("transpose", weight, axes=(0, 2, 1, 3)), (blocks * tile, depth))
    return _less_zero_points(first, (data, plain, *zeros), depth, blocks * tile, attrs.out_dtype)


def _less_zero_points(first: Expr, args: Sequence[Expr], depth: int, units: int, dtype: str) -> Expr:
    """A product of data and weights `(units, depth)`, summed in `dtype`, without the part that zero points have in it."""
    data, weight, data_zero, weight_zero = args[:4]
    wide = dtype != "int32"
    sums = _sum(data, [1], True, dtype)
    if not is_scalar(weight_zero):
        sums = call("repeat", sums, repeats=units, axis=1)
    x, w = (cast(z, dtype) if wide else z for z in (data_zero, weight_zero))
    second = multiply(w, sums)
    third = multiply(x, _sum(weight, [1], False, dtype))
    if is_scalar(data_zero) and is_scalar(weight_zero):
        zeros = (_known(data_zero), _known(weight_zero))
        return _combine((first, second, third, scalar_constant(zeros[0] * zeros[1] * depth, dtype)), zeros)
    fourth = multiply(multiply(x, w), scalar_constant(depth, dtype))
    return _combine((first, second, third, fourth), (-1, -1))


@legalization(QNN_CANONICALIZE, "qnn.batch_matmul")
def batch_matmul(s: LegalizationSite) -> Expr:
    """A batched product minus the terms of the zero points."""
    x, y, x_zero, y_zero = s.args[:4]
    attrs = s.attrs
    if attrs.transpose_a or not attrs.transpose_b:
        raise IrError("qnn.batch_matmul needs transpose_a=False and transpose_b=True", s.call.span)
    depth, columns = s.extent(0, 2), s.extent(1, 1)
    first = call("nn.batch_matmul", x, y, out_dtype=attrs.out_dtype, transpose_a=False, transpose_b=True)
    second = multiply(y_zero, _sum(x, [2], keepdims=True))
    sums = multiply(x_zero, _sum(y, [2], keepdims=True))
    if columns == 0:
        third = reshape_to(sums, (s.shape(1)[0], 1, columns))
    else:
        third = call("reshape", sums, newshape=[0, 1, columns])  # 0 copies the number of products
    if not (is_scalar(x_zero) and is_scalar(y_zero)):
        fourth = multiply(multiply(x_zero, y_zero), int32(depth))
        return _combine((first, second, third, fourth), (-1, -1))
    zeros = (_known(x_zero), _known(y_zero))
    return _combine((first, second, third, int32(zeros[0] * zeros[1] * depth)), zeros)


def _is_depthwise(attrs: Any) -> bool:
    return attrs.channels is not None and attrs.channels == attrs.groups and attrs.groups != 1


@legalization(QNN_CANONICALIZE, "qnn.conv2d")
def conv2d(s: LegalizationSite) -> Expr:
    """A convolution of padded data minus the terms of the zero points."""
    return _Convolution(s).lower()


def grouped_terms(s: LegalizationSite) -> Expr:
    """A convolution of groups of channels, whose weights have the zero point 0, minus the term of the data's zero point: that of a
    result needs the weights of its own group only, which are all that it has."""
    return _Convolution(s).terms()


class _Convolution:
    def __init__(self, s: LegalizationSite) -> None:
        attrs = s.attrs
        if attrs.data_layout not in ("NCHW", "NHWC") or attrs.kernel_layout not in ("OIHW", "HWIO", "HWOI", "OHWI"):
            raise IrError(
                f"qnn.conv2d is defined for NCHW and NHWC data and OIHW, HWIO, HWOI and OHWI kernels, "
                f"not {attrs.data_layout} and {attrs.kernel_layout}",
                s.call.span,
            )
        if attrs.kernel_size is None:
            raise IrError("qnn.conv2d needs its kernel_size", s.call.span)
        self.site, self.at = s, attrs
        self.data, self.weight, self.data_zero, self.weight_zero = s.args[:4]
        self.channel_axis = attrs.data_layout.index("C")
        extents = dict(zip(attrs.kernel_layout, s.shape(1), strict=True))
        self.kernel = (extents["H"], extents["W"])
        self.out_channels = extents["O"]
        self.in_channels = s.extent(0, self.channel_axis)
        self.multiplier = extents["I"]
        self.dynamic = not (is_scalar(self.data_zero) and is_scalar(self.weight_zero))
        self.zeros = (-1, -1) if self.dynamic else (_known(self.data_zero), _known(self.weight_zero))

    def lower(self) -> Expr:
        attrs = self.at
        simple = self.zeros[1] == 0 or tuple(attrs.dilation) == (1, 1)
        supported = simple and (attrs.groups == 1 or _is_depthwise(attrs))
        if self.dynamic:
            axis = self.channel_axis if supported else attrs.kernel_layout.index("O")
            flat = call("reshape", self.weight_zero, newshape=[-1])
            self.weight_zero = expand_to_axis(flat, 4, [axis])
        if not supported:
            return self.shifted()
        out_layout = attrs.out_layout or attrs.data_layout
        if out_layout != attrs.data_layout and self.zeros != (
            0,
            0,
        ):  # the terms of the zero points are in the data's layout
            self.at = dataclasses.replace(attrs, out_layout="")
            return call("layout_transform", self.terms(), src_layout=attrs.data_layout, dst_layout=out_layout)
        return self.terms()

    def terms(self) -> Expr:
        """The products, minus the terms of the zero points."""
        attrs = self.at
        padded = self.padded()
        first = self.convolution(padded, self.weight, [0, 0, 0, 0])
        if _is_depthwise(attrs):
            return _combine((first, self.depthwise_second(padded), self.depthwise_third(), self.fourth(1)), self.zeros)
        return _combine((first, self.second(padded), self.third(), self.fourth(self.in_channels)), self.zeros)

    def convolution(self, data: Expr, weight: Expr, padding: Any) -> Expr:
        known = {f.name: getattr(self.at, f.name) for f in dataclasses.fields(self.at)}
        return call("nn.conv2d", data, weight, **{**known, "padding": tuple(padding)})

    def shifted(self) -> Expr:
        """Both operands minus their zero points, in wider integers: simple, and slower."""
        bits = max(32, int("".join(c for c in self.at.out_dtype if c.isdigit()) or 0))
        wide = f"int{bits}"
        data, weight = cast(self.data, wide), cast(self.weight, wide)
        if not is_zero(self.data_zero, wide):
            data = subtract(cast(self.data, wide), cast(self.data_zero, wide))
        if not is_zero(self.weight_zero, wide):
            weight = subtract(cast(self.weight, wide), cast(self.weight_zero, wide))
        return self.convolution(data, weight, self.at.padding)

    def padded(self) -> Expr:
        height, width = pad_amounts(self.at.padding, 2)
        if not any((*height, *width)):
            return self.data
        widths = {"N": (0, 0), "C": (0, 0), "H": height, "W": width}
        pad_width = [widths[a] for a in self.at.data_layout]
        return call("nn.pad", self.data, self.data_zero, pad_width=pad_width, pad_mode="constant")

    def window_sums(self, e: Expr) -> Expr:
        """Sums over the kernel's windows. An average times the window's size: multiplied first, the division is exact."""
        height, width = self.kernel
        if height * width != 1:
            e = multiply(e, int32(height * width))
        elif tuple(self.at.strides) == (1, 1):
            return e
        return call(
            "nn.avg_pool2d",
            e,
            pool_size=self.at.kernel_size,
            strides=self.at.strides,
            dilation=self.at.dilation,
            padding=[0, 0],
            layout=self.at.data_layout,
            out_layout="",
            ceil_mode=False,
            count_include_pad=False,
        )

    def second(self, padded: Expr) -> Expr:
        sums = self.window_sums(_sum(padded, [self.channel_axis], keepdims=True))
        if same_scalar(self.weight_zero, scalar_constant(1, "int32")):
            return sums
        if not is_scalar(self.weight_zero):
            sums = call("repeat", sums, repeats=self.out_channels, axis=self.channel_axis)
        return multiply(self.weight_zero, sums)

    def depthwise_second(self, padded: Expr) -> Expr:
        sums = self.window_sums(cast(padded, "int32"))
        if not same_scalar(self.weight_zero, scalar_constant(1, "int32")):
            zero = self.weight_zero
            if not is_scalar(zero):
                zero = call("repeat", zero, repeats=self.multiplier, axis=0)
            sums = multiply(zero, sums)
        if self.multiplier != 1:
            sums = call("repeat", sums, repeats=self.multiplier, axis=self.channel_axis)
        return sums

    def third(self) -> Expr:
        axes = [i for i, a in enumerate(self.at.kernel_layout) if a != "O"]
        return self.by_channel(_sum(self.weight, axes, keepdims=False), self.out_channels)

    def depthwise_third(self) -> Expr:
        if self.at.kernel_layout == "OHWI":
            raise IrError("depthwise qnn.conv2d is defined for OIHW, HWIO and HWOI kernels", self.site.call.span)
        axes = [i for i, a in enumerate(self.at.kernel_layout) if a in "HW"]
        return self.by_channel(_sum(self.weight, axes, keepdims=False), self.out_channels * self.multiplier)

    def by_channel(self, sums: Expr, channels: int) -> Expr:
        shape = [channels if a == "C" else 1 for a in self.at.data_layout]
        shaped = reshape_to(sums, shape)
        if same_scalar(self.data_zero, scalar_constant(1, "int32")):
            return shaped
        return multiply(self.data_zero, shaped)

    def fourth(self, depth: int) -> Expr:
        count = depth * self.kernel[0] * self.kernel[1]
        if self.dynamic:
            return multiply(int32(count), multiply(self.data_zero, self.weight_zero))
        return int32(self.zeros[0] * self.zeros[1] * count)
