"""Softmax and its relatives, along the last axis."""

from __future__ import annotations

from typing import ClassVar

from ....deferred import np
from ....ops.qnn.fixed_point import limits
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import EIGHT_BITS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import correct, limited, plus, require_scalar, zero_of
from .unary import round_away


@tflite_operator("SOFTMAX")
class Softmax(TfliteOperator):
    """Softmax along the last axis of `beta` times the input."""

    types: ClassVar[tuple[str, ...]] = ("float32", *EIGHT_BITS, "int16")

    def convert(self, x: Operand, *, beta: float = 0.0) -> Result:
        if x.q is not None and self.is_quantized and x.dtype in EIGHT_BITS:
            return self._integers(x, beta)
        if x.dtype == "int16":
            from .softmax16 import softmax

            return softmax(x, beta)
        scaled = x.value if beta == 1 else x.call("multiply", Value.constant(np.float32(beta)))
        return scaled.call("nn.softmax", axis=-1)

    def _integers(self, x: Operand, beta: float) -> Value:
        """Exponentials by a table of the distance from the largest element, in float32."""
        q, out, dtype = require_scalar(x), self.out_q, self.outputs[0].dtype
        scale = -q.scales[0] * np.float32(beta)
        table = correct(np.exp)(scale * np.arange(256).astype(np.float32))
        wide = cast(x.value, "int32")
        below = apply("subtract", wide.call("max", axis=[-1], keepdims=True), wide)
        powers = apply("take", Value.constant(table), below, axis=0, mode="fast")
        total = powers.call("sum", axis=[-1], keepdims=True)
        inverse = apply(
            "divide", Value.constant(np.float32(1)), apply("multiply", total, Value.constant(np.float32(out.scales[0])))
        )
        steps = cast(round_away(apply("multiply", powers, inverse)), "int32")
        low, high = limits(dtype)
        return cast(limited(plus(steps, zero_of(out)), low, high), dtype)


@tflite_operator("LOG_SOFTMAX")
class LogSoftmax(TfliteOperator):
    """The logarithm of softmax along the last axis."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8")

    def convert(self, x: Operand) -> Result:
        if x.q is None or not self.is_quantized:
            return x.call("nn.log_softmax", axis=-1)
        if x.dtype == "uint8":
            return self._bytes(x)
        from .log_softmax import log_softmax

        return log_softmax(x)

    def _bytes(self, x: Operand) -> Value:
        """Exponentials by a table of the distance from the largest element, in float32."""
        q, out = require_scalar(x), self.out_q
        table = correct(np.exp)(-q.scales[0] * np.arange(256).astype(np.float32))
        wide = cast(x.value, "int32")
        largest = wide.call("max", axis=[-1], keepdims=True)
        below = apply("subtract", largest, wide)
        total = apply("take", Value.constant(table), below, axis=0, mode="fast").call("sum", axis=[-1], keepdims=True)
        scale = Value.constant(np.float32(q.scales[0]))
        factor = Value.constant(np.float32(q.scales[0] / out.scales[0]))
        pivot = apply("add", total.call("log"), apply("multiply", cast(largest, "float32"), scale))
        pivot = apply("multiply", pivot, Value.constant(np.float32(1) / out.scales[0]))
        steps = apply("subtract", apply("multiply", cast(wide, "float32"), factor), pivot)
        rounded = cast(round_away(steps), "int32")
        return cast(limited(plus(rounded, zero_of(out)), 0, 255), "uint8")


@tflite_operator("L2_NORMALIZATION")
class L2Normalization(TfliteOperator):
    """Rows divided by the root of the sum of their squares."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8")

    def convert(self, x: Operand, *, fused_activation_function: int = 0) -> Result:
        if fused_activation_function:
            raise self.refuse(f"fused_activation_function={fused_activation_function}")
        if x.q is not None and self.is_quantized:
            from .l2_norm import normalized

            return normalized(x)
        squares = apply("multiply", x.value, x.value).call("sum", axis=[-1], keepdims=True).call("sqrt")
        least = Value.constant(np.float32(1e-6))
        return apply("divide", x.value, apply("maximum", squares, least))


@tflite_operator("LOCAL_RESPONSE_NORMALIZATION")
class LocalResponseNormalization(TfliteOperator):
    """Elements divided by a power of the sum of the squares of their neighbours along the last axis."""

    types: ClassVar[tuple[str, ...]] = ("float32",)

    def convert(
        self, x: Operand, *, radius: int = 0, bias: float = 0.0, alpha: float = 0.0, beta: float = 0.0
    ) -> Result:
        size = 2 * radius + 1
        return x.call("nn.lrn", size=size, axis=x.rank - 1, bias=bias, alpha=alpha * size, beta=beta)
