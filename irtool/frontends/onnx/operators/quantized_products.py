"""Products of quantized matrices."""

from __future__ import annotations

from ....deferred import np
from ..integer_products import dynamic_product, integer_matmul
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..quantities import Quantities, product, real, requantized
from ..value import Value, apply


def _by_row(parameter: Value) -> Value:
    """Scales or zero points of the rows of a left operand, so that they broadcast."""
    if parameter.rank != 1 or parameter.shape == (1,):
        return parameter
    if parameter.known is not None:
        return Value.constant(parameter.known[:, None], parameter.dtype)
    return parameter.call("expand_dims", axis=1)


def _zero(zero: Value | None, by_row: bool = False) -> Value:
    zero = _by_row(zero) if by_row and zero is not None else zero
    return Quantities.of(Value.constant(np.float32(1)), zero).zero


@onnx_operator("MatMulInteger")
class MatMulInteger(OnnxOperator):
    """The product of 8-bit matrices minus their zero points, in int32."""

    @since(10)
    def matmul(
        self, a: Value, b: Value, a_zero_point: Value | None = None, b_zero_point: Value | None = None
    ) -> Result:
        return integer_matmul(a, b, _zero(a_zero_point, by_row=True), _zero(b_zero_point))


@onnx_operator("QLinearMatMul")
class QLinearMatMul(OnnxOperator):
    """The product of quantized matrices, quantized."""

    @since(10, 21)
    def matmul(
        self,
        a: Value,
        a_scale: Value,
        a_zero_point: Value,
        b: Value,
        b_scale: Value,
        b_zero_point: Value,
        y_scale: Value,
        y_zero_point: Value,
    ) -> Result:
        out = integer_matmul(a, b, _zero(a_zero_point, by_row=True), _zero(b_zero_point))
        left, right = _by_row(a_scale), b_scale
        y = Quantities.of(y_scale, y_zero_point)
        return requantized(out, product(left.as_constant(), right.as_constant()), y, y_zero_point.dtype)


@onnx_operator("com.microsoft.MatMulIntegerToFloat")
class MatMulIntegerToFloat(OnnxOperator):
    """The product of 8-bit matrices in real numbers."""

    @since(1)
    def matmul(
        self,
        a: Value,
        b: Value,
        a_scale: Value,
        b_scale: Value,
        a_zero_point: Value | None = None,
        b_zero_point: Value | None = None,
        bias: Value | None = None,
    ) -> Result:
        sums = integer_matmul(a, b, _zero(a_zero_point, by_row=True), _zero(b_zero_point))
        scale = product(_by_row(a_scale.as_constant()), b_scale.as_constant())
        out = real(sums, scale, a_scale.dtype)
        return out if bias is None else apply("add", out, bias)


@onnx_operator("com.microsoft.DynamicQuantizeMatMul")
class DynamicQuantizeMatMul(OnnxOperator):
    """The product of data, quantized with a scale of its own, with 8-bit weights, in real numbers."""

    @since(1)
    def matmul(
        self, a: Value, b: Value, b_scale: Value, b_zero_point: Value | None = None, bias: Value | None = None
    ) -> Result:
        return dynamic_product(a, b, b_scale, b_zero_point, bias)


@onnx_operator("com.microsoft.QGemm")
class QGemm(OnnxOperator):
    """`alpha * A @ B + C` of quantized matrices; real numbers where no scale of the result is given."""

    @since(1)
    def gemm(
        self,
        a: Value,
        a_scale: Value,
        a_zero_point: Value,
        b: Value,
        b_scale: Value,
        b_zero_point: Value,
        c: Value | None = None,
        y_scale: Value | None = None,
        y_zero_point: Value | None = None,
        *,
        alpha: float = 1.0,
        transA: int = 0,
        transB: int = 0,
    ) -> Result:
        x, w = Quantities.of(a_scale, a_zero_point), Quantities.of(b_scale, b_zero_point)
        a = a.call("transpose", axes=[1, 0]) if transA else a
        b = b.call("transpose", axes=[1, 0]) if transB else b
        out = integer_matmul(a, b, x.zero, w.zero)
        if c is not None:
            by_column = c.rank == 1 and c.shape == out.shape[1:]
            out = apply("nn.bias_add", out, c, axis=1) if by_column else apply("add", out, c)
        scale = product(product(Value.constant(np.float32(alpha)), x.scale), w.scale)
        if y_scale is None:
            return real(out, scale)
        dtype = y_zero_point.dtype if y_zero_point is not None else a.dtype
        return requantized(out, scale, Quantities.of(y_scale, y_zero_point), dtype)
