"""Convolutions of quantized tensors."""

from __future__ import annotations

from ....deferred import np
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..quantities import Quantities, product, requantized
from ..sliding import weight_windows
from ..value import Value, apply
from .integer_conv import integer_conv


@onnx_operator("ConvInteger")
class ConvInteger(OnnxOperator):
    """The convolution of 8-bit tensors minus their zero points, in int32."""

    @since(10)
    def convolution(
        self,
        x: Value,
        w: Value,
        x_zero_point: Value | None = None,
        w_zero_point: Value | None = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = (),
        group: int = 1,
        kernel_shape: tuple[int, ...] = (),
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        one = Value.constant(np.float32(1))
        x_zero, w_zero = (Quantities.of(one, z).zero for z in (x_zero_point, w_zero_point))
        windows = weight_windows(x, w, kernel_shape, strides, pads, dilations, auto_pad)
        return integer_conv(x, w, x_zero, w_zero, windows, group)


@onnx_operator("QLinearConv")
class QLinearConv(OnnxOperator):
    """The convolution of quantized tensors, with a bias in int32, quantized."""

    @since(10)
    def convolution(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value,
        w: Value,
        w_scale: Value,
        w_zero_point: Value,
        y_scale: Value,
        y_zero_point: Value,
        b: Value | None = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = (),
        group: int = 1,
        kernel_shape: tuple[int, ...] = (),
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        data, weights = Quantities.of(x_scale, x_zero_point), Quantities.of(w_scale, w_zero_point)
        windows = weight_windows(x, w, kernel_shape, strides, pads, dilations, auto_pad)
        out = integer_conv(x, w, data.zero, weights.zero, windows, group)
        if b is not None:
            out = apply("nn.bias_add", out, b, axis=1)
        scale = product(data.scale, weights.along(0, x.rank - 1)[0])
        return requantized(out, scale, Quantities.of(y_scale, y_zero_point), y_zero_point.dtype)
