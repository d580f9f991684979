"""Layers of quantized tensors, in real numbers between qnn.dequantize and qnn.quantize, of which builds make integers."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....diagnostics import IrError
from ....ir import Tuple
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..pools import average
from ..quantities import Quantities, dequantized, quantized
from ..sliding import Windows, spatial_rank
from ..value import Value, apply


def _in_reals(
    x: Value, function: Callable[[Value], Value], now: tuple[Value, Value | None], to: tuple[Value, Value | None]
) -> Value:
    """A function of a quantized tensor, quantized again."""
    real = function(dequantized(x, Quantities.known(*now, "the data")))
    return quantized(real, Quantities.known(*to, "the result"), x.dtype)


@onnx_operator("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
class QLinearBinary(OnnxOperator):
    """Sums and products of quantized tensors."""

    @since(1)
    def binary(
        self,
        a: Value,
        a_scale: Value,
        a_zero_point: Value | None,
        b: Value,
        b_scale: Value,
        b_zero_point: Value | None,
        c_scale: Value,
        c_zero_point: Value | None = None,
    ) -> Result:
        left = Quantities.known(a_scale, a_zero_point, "the left operand")
        right = Quantities.known(b_scale, b_zero_point, "the right operand")
        grid = Quantities.known(c_scale, c_zero_point, "the result")
        if self.node.op_type.endswith("Mul"):
            return quantized(apply("multiply", dequantized(a, left), dequantized(b, right)), grid, a.dtype)
        steps = apply("add", dequantized(a, left.in_steps_of(grid)), dequantized(b, right.in_steps_of(grid)))
        return quantized(steps, grid.in_steps_of(grid), a.dtype)


@onnx_operator("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu")
class QLinearUnary(OnnxOperator):
    """Functions of one quantized tensor."""

    @since(1)
    def unary(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value | None,
        y_scale: Value,
        y_zero_point: Value | None = None,
        *,
        alpha: float = 0.01,
    ) -> Result:
        if self.node.op_type.endswith("Sigmoid"):
            if "alpha" in self.node.attributes:
                raise IrError("QLinearSigmoid has no attribute alpha", code=DamagedModel)
            return _in_reals(x, lambda r: r.call("sigmoid"), (x_scale, x_zero_point), (y_scale, y_zero_point))
        return _in_reals(
            x, lambda r: r.call("nn.leaky_relu", alpha=alpha), (x_scale, x_zero_point), (y_scale, y_zero_point)
        )


@onnx_operator("com.microsoft.QLinearSoftmax")
class QLinearSoftmax(OnnxOperator):
    """Softmax of a quantized tensor; `opset` says which of ONNX's meanings `axis` has."""

    @since(1)
    def softmax(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value | None,
        y_scale: Value,
        y_zero_point: Value,
        *,
        axis: int = -1,
        opset: int = 13,
    ) -> Result:
        positive_axis = x.axis(axis)

        def function(real: Value) -> Value:
            if opset >= 13 or positive_axis == x.rank - 1:
                return real.call("nn.softmax", axis=positive_axis)
            shape = x.extents("the data of QLinearSoftmax")
            flat = real.call("reshape", newshape=[math.prod(shape[:positive_axis]), -1])
            return flat.call("nn.softmax", axis=-1).call("reshape", newshape=list(shape))

        return _in_reals(x, function, (x_scale, x_zero_point), (y_scale, y_zero_point))


@onnx_operator("com.microsoft.QLinearGlobalAveragePool")
class QLinearGlobalAveragePool(OnnxOperator):
    """The mean over all but batch and channels."""

    @since(1)
    def mean(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value | None,
        y_scale: Value,
        y_zero_point: Value | None,
        *,
        channels_last: int = 0,
    ) -> Result:
        def function(real: Value) -> Value:
            if x.rank == 4:
                return real.call("nn.global_avg_pool2d", layout="NHWC" if channels_last else "NCHW")
            axes = range(1, x.rank - 1) if channels_last else range(2, x.rank)
            return real.call("mean", axis=list(axes), keepdims=True)

        return _in_reals(x, function, (x_scale, x_zero_point), (y_scale, y_zero_point))


@onnx_operator("com.microsoft.QLinearAveragePool")
class QLinearAveragePool(OnnxOperator):
    """The mean over windows: with `count_include_pad` of all their elements, as in ONNX Runtime."""

    @since(1)
    def pool(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value | None,
        y_scale: Value,
        y_zero_point: Value | None = None,
        *,
        kernel_shape: tuple[int, ...],
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        channels_last: int = 0,
        count_include_pad: int = 0,
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        spatial_rank(x, "a pool")
        windows = Windows.of(kernel_shape, strides, pads, (), auto_pad)

        def function(real: Value) -> Value:
            inner = real.call("transpose", axes=[0, x.rank - 1, *range(1, x.rank - 1)]) if channels_last else real
            mean = average(inner, windows, bool(ceil_mode), bool(count_include_pad), counts_beyond=True)
            return mean.call("transpose", axes=[0, *range(2, x.rank), 1]) if channels_last else mean

        return _in_reals(x, function, (x_scale, x_zero_point), (y_scale, y_zero_point))


@onnx_operator("com.microsoft.QLinearConcat")
class QLinearConcat(OnnxOperator):
    """Tensors of different scales, joined; each has its tensor, scale and zero point."""

    @since(1)
    def join(self, y_scale: Value, y_zero_point: Value, *inputs: Value, axis: int) -> Result:
        if not inputs or len(inputs) % 3:
            raise IrError(f"QLinearConcat has {len(inputs)} inputs behind its first two, not three for each tensor")
        parts = [inputs[i : i + 3] for i in range(0, len(inputs), 3)]
        grids = [Quantities.known(s, z, f"tensor {i}") for i, (_, s, z) in enumerate(parts)]
        y = Quantities.known(y_scale, y_zero_point, "the result")
        steps = [dequantized(x, q.in_steps_of(y)) for (x, _, _), q in zip(parts, grids, strict=True)]
        joined = apply("concatenate", Tuple(tuple(r.expr for r in steps)), axis=steps[0].axis(axis))
        return quantized(joined, y.in_steps_of(y), parts[0][0].dtype)
