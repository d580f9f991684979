"""Convolutions: data `(N, H, W, C)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..activations import activated, activation_name
from ..operator import EIGHT_BITS, FLOATS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import activation_range, number, offset, require_scalar, rescaled, scale_of, stored, zero_of
from ..wide import wide_rescaled
from ..windows import padding_of


class _Convolution(TfliteOperator):
    """The last steps of quantized convolutions: bias, scale, activation."""

    types: ClassVar[tuple[str, ...]] = (*FLOATS, *EIGHT_BITS, "int16")

    def finish(
        self, sums: Value, x: Operand, w: Operand, bias: Operand | None, activation: int, axis: int = 3
    ) -> Value:
        """Sums of integer products with their bias, in steps of the output."""
        if bias is not None:
            sums = apply("nn.bias_add", sums, cast(bias.value, sums.dtype), axis=axis)
        factors = scale_of(require_scalar(x)) * scales_of(w) / scale_of(self.out_q)
        dtype = self.outputs[0].dtype
        low, high = activation_range(activation_name(activation), self.out_q, dtype)
        steps = wide_rescaled(sums, factors, axis) if sums.dtype == "int64" else rescaled(sums, factors, axis)
        return stored(steps, self.out_q, dtype, low, high)


def scales_of(w: Operand) -> Any:
    """The scales of weights, in float64."""
    if w.q is None:
        require_scalar(w)
    assert w.q is not None
    return w.q.scales.astype(np.float64)


def real_weights(w: Operand) -> Value:
    """Weights as real numbers: those of a hybrid operator are integers with scales."""
    if w.q is None:
        return w.value
    from ..dequantized import dequantized

    return dequantized(w)


@tflite_operator("CONV_2D")
class Conv2D(_Convolution):
    """A convolution with weights `(O, H, W, C / groups)`."""

    def convert(
        self,
        x: Operand,
        w: Operand,
        bias: Operand | None = None,
        *,
        padding: int,
        stride_w: int,
        stride_h: int,
        fused_activation_function: int,
        dilation_w_factor: int,
        dilation_h_factor: int,
        quantized_bias_type: int = 0,
    ) -> Result:
        if x.rank != 4 or w.rank != 4:
            raise self.damaged(f"data of rank {x.rank} and weights of rank {w.rank}, not 4")
        channels, height, width, depth = w.shape
        if not depth or x.shape[3] % depth or channels % (x.shape[3] // depth):
            raise self.damaged(f"data of {x.shape[3]} channels and weights of the shape {w.shape}")
        groups = x.shape[3] // depth
        strides, dilations = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
        attributes: dict[str, Any] = {
            "strides": strides,
            "padding": padding_of(padding, x.shape[1:3], (height, width), strides, dilations),
            "dilation": dilations,
            "groups": groups,
            "channels": channels,
            "kernel_size": (height, width),
            "data_layout": "NHWC",
            "kernel_layout": "HWIO",
        }
        if x.q is None or not self.is_quantized:
            kernel = real_weights(w).call("transpose", axes=[1, 2, 3, 0])
            y = x.call("nn.conv2d", kernel, **attributes)
            y = y if bias is None else y.call("nn.bias_add", bias.value, axis=3)
            return activated(y, fused_activation_function)
        sums = _integer_conv(x, w, w.call("transpose", axes=[1, 2, 3, 0]), attributes, sum_dtype(x, bias))
        return self.finish(sums, x, w, bias, fused_activation_function)


@tflite_operator("DEPTHWISE_CONV_2D")
class DepthwiseConv2D(_Convolution):
    """A convolution of each channel alone, with weights `(1, H, W, C * multiplier)`."""

    def convert(
        self,
        x: Operand,
        w: Operand,
        bias: Operand | None = None,
        *,
        padding: int,
        stride_w: int,
        stride_h: int,
        depth_multiplier: int,
        fused_activation_function: int,
        dilation_w_factor: int,
        dilation_h_factor: int,
    ) -> Result:
        if x.rank != 4 or w.rank != 4 or w.shape[0] != 1:
            raise self.damaged(f"data of the shape {x.shape} and weights of the shape {w.shape}")
        _, height, width, channels = w.shape
        groups = x.shape[3]
        if not groups or channels % groups:
            raise self.damaged(f"data of {groups} channels and weights of the shape {w.shape}")
        strides, dilations = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
        attributes: dict[str, Any] = {
            "strides": strides,
            "padding": padding_of(padding, x.shape[1:3], (height, width), strides, dilations),
            "dilation": dilations,
            "groups": groups,
            "channels": channels,
            "kernel_size": (height, width),
            "data_layout": "NHWC",
            "kernel_layout": "HWOI" if groups > 1 else "HWIO",
        }
        form = [height, width, groups, channels // groups]
        if x.q is None or not self.is_quantized:
            kernel = real_weights(w).call("reshape", newshape=form)
            y = x.call("nn.conv2d", kernel, **attributes)
            y = y if bias is None else y.call("nn.bias_add", bias.value, axis=3)
            return activated(y, fused_activation_function)
        sums = _integer_conv(x, w, w.call("reshape", newshape=form), attributes, sum_dtype(x, bias))
        return self.finish(sums, x, w, bias, fused_activation_function)


def sum_dtype(x: Operand, bias: Operand | None) -> str:
    """The type of sums: int64 for data of 16 bits, unless a bias of 32 bits is added, else int32."""
    return "int64" if x.dtype == "int16" and (bias is None or bias.dtype == "int64") else "int32"


def _integer_conv(x: Operand, w: Operand, kernel: Value, attributes: dict[str, Any], dtype: str) -> Value:
    """Sums of the products of integers minus their zero points."""
    zero = int(w.q.zeros[0]) if w.q is not None else 0
    if x.dtype == "int16":
        wide = cast(x.value, dtype), cast(kernel, dtype)
        return apply("nn.conv2d", *wide, **attributes, out_dtype=dtype)
    one = Value.constant(np.float32(1))
    zeros = number(zero_of(require_scalar(x))), number(zero)
    return apply("qnn.conv2d", x.value, kernel, *zeros, one, one, **attributes, out_dtype="int32")


@tflite_operator("TRANSPOSE_CONV")
class TransposeConv(_Convolution):
    """The transpose of a convolution with weights `(O, H, W, C)`, to the shape that the first input says."""

    types: ClassVar[tuple[str, ...]] = ()

    def convert(
        self,
        shape: Operand,
        w: Operand,
        x: Operand,
        bias: Operand | None = None,
        *,
        padding: int,
        stride_w: int,
        stride_h: int,
        fused_activation_function: int = 0,
        quantized_bias_type: int = 0,
    ) -> Result:
        out = shape.ints("the shape of TRANSPOSE_CONV")
        if x.rank != 4 or w.rank != 4 or len(out) != 4:
            raise self.damaged(f"data of the shape {x.shape}, weights of {w.shape}, a result of {out}")
        channels, height, width, depth = w.shape
        if depth != x.shape[3] or channels != out[3] or x.shape[0] != out[0]:
            raise self.damaged(f"data of the shape {x.shape}, weights of {w.shape}, a result of {out}")
        strides = (stride_h, stride_w)
        pads = padding_of(padding, out[1:3], (height, width), strides, (1, 1))
        quantized = x.q is not None and self.is_quantized
        data = offset(x) if quantized else x.value
        if quantized:
            data = cast(data, sum_dtype(x, bias))
        weights = cast(offset_weights(w), data.dtype) if quantized else real_weights(w)
        y = apply(
            "nn.conv2d_transpose",
            data.call("transpose", axes=[0, 3, 1, 2]),
            weights.call("transpose", axes=[3, 0, 1, 2]),
            kernel_layout="IOHW",
            strides=strides,
            padding=(0, 0, 0, 0),
            channels=channels,
            kernel_size=(height, width),
            out_dtype=data.dtype,
        ).call("transpose", axes=[0, 2, 3, 1])
        y = cut_to(y, out, pads, "the result of TRANSPOSE_CONV")
        if quantized:
            return self.finish(y, x, w, bias, fused_activation_function)
        y = y if bias is None else y.call("nn.bias_add", bias.value, axis=3)
        return activated(y, fused_activation_function)


def cut_to(y: Value, out: Sequence[int], pads: Sequence[int], what: str) -> Value:
    """A transposed convolution without padding, `(N, …, C)`, from the elements behind `pads` on, with the extents `out`.

    Elements behind it, which no datum reaches, are zeros. `what` names it in an error.
    """
    full = y.extents(what)
    axes = range(1, len(out) - 1)
    behind = [max(pads[n - 1] + out[n] - full[n], 0) for n in axes]
    if any(behind):
        widths = ((0, 0), *((0, b) for b in behind), (0, 0))
        y = y.call("nn.pad", Value.constant(np.zeros((), y.dtype)), pad_width=widths)
    return y.call(
        "strided_slice",
        begin=[0, *(pads[n - 1] for n in axes), 0],
        end=[out[0], *(pads[n - 1] + out[n] for n in axes), full[-1]],
        strides=[1] * len(out),
        axes=[*range(len(out))],
    )


def offset_weights(w: Operand) -> Value:
    """Weights minus their zero point, in int32; those of several scales have zero points of 0."""
    x = cast(w.value, "int32")
    zero = int(w.q.zeros[0]) if w.q is not None and w.q.is_scalar else 0
    return x if not zero else apply("subtract", x, number(zero))


@tflite_operator("CONV_3D")
class Conv3D(TfliteOperator):
    """A convolution `(N, D, H, W, C)` with weights `(D, H, W, C, O)`."""

    types: ClassVar[tuple[str, ...]] = ("float32",)

    def convert(
        self,
        x: Operand,
        w: Operand,
        bias: Operand | None = None,
        *,
        padding: int,
        stride_d: int,
        stride_w: int,
        stride_h: int,
        fused_activation_function: int,
        dilation_d_factor: int,
        dilation_w_factor: int,
        dilation_h_factor: int,
    ) -> Result:
        strides = (stride_d, stride_h, stride_w)
        dilations = (dilation_d_factor, dilation_h_factor, dilation_w_factor)
        if x.rank != 5 or w.rank != 5 or x.shape[4] % max(w.shape[3], 1):
            raise self.damaged(f"data of the shape {x.shape} and weights of the shape {w.shape}")
        y = apply(
            "nn.conv3d",
            x.call("transpose", axes=[0, 4, 1, 2, 3]),
            w.call("transpose", axes=[4, 3, 0, 1, 2]),
            strides=strides,
            padding=padding_of(padding, x.shape[1:4], w.shape[:3], strides, dilations),
            dilation=dilations,
            groups=x.shape[4] // w.shape[3],
            channels=w.shape[4],
            kernel_size=w.shape[:3],
        ).call("transpose", axes=[0, 2, 3, 4, 1])
        y = y if bias is None else y.call("nn.bias_add", bias.value, axis=4)
        return activated(y, fused_activation_function)


@tflite_operator("CONV_3D_TRANSPOSE")
class Conv3DTranspose(TfliteOperator):
    """The transpose of a convolution `(N, D, H, W, C)` with weights `(D, H, W, O, C)`, to the shape that the first input says."""

    def convert(
        self,
        shape: Operand,
        w: Operand,
        x: Operand,
        bias: Operand | None = None,
        *,
        padding: int,
        stride_d: int,
        stride_w: int,
        stride_h: int,
        fused_activation_function: int,
        dilation_d_factor: int,
        dilation_w_factor: int,
        dilation_h_factor: int,
    ) -> Result:
        out = shape.ints("the shape of CONV_3D_TRANSPOSE")
        strides = (stride_d, stride_h, stride_w)
        dilations = (dilation_d_factor, dilation_h_factor, dilation_w_factor)
        if dilations != (1, 1, 1):
            raise self.refuse(f"dilations {dilations}")
        if x.rank != 5 or w.rank != 5 or len(out) != 5:
            raise self.damaged(f"data of the shape {x.shape}, weights of {w.shape}, a result of {out}")
        pads = padding_of(padding, out[1:4], w.shape[:3], strides, dilations)
        y = apply(
            "nn.conv3d_transpose",
            x.call("transpose", axes=[0, 4, 1, 2, 3]),
            w.call("transpose", axes=[4, 3, 0, 1, 2]),
            strides=strides,
            padding=(0,) * 6,
            channels=w.shape[3],
            kernel_size=w.shape[:3],
        ).call("transpose", axes=[0, 2, 3, 4, 1])
        y = cut_to(y, out, pads, "the result of CONV_3D_TRANSPOSE")
        y = y if bias is None else y.call("nn.bias_add", bias.value, axis=4)
        return activated(y, fused_activation_function)
