"""Activations that are operators."""

from __future__ import annotations

from typing import Any, ClassVar

from ....deferred import np
from ....ops.qnn.fixed_point import limits
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import (
    by_table,
    correct,
    multiplier_and_shift,
    number,
    offset,
    quantized_number,
    require_scalar,
    rescaled,
    stored,
    table_of_reals,
    zero_of,
)
from ..tables import fixed_product, rounded_shift
from .sigmoid16 import logistic, tanh

_RANGES = {"RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)}


@tflite_operator("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
class Relu(TfliteOperator):
    """Elements limited to a range."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(self, x: Operand) -> Result:
        low, high = _RANGES[self.node.op_type]
        if x.q is None or not self.is_quantized:
            if high is None:
                return x.call("nn.relu")
            return x.call("clip", a_min=low, a_max=high)
        q = self.out_q
        least, greatest = limits(x.dtype)
        least = max(least, quantized_number(low, q))
        greatest = greatest if high is None else min(greatest, quantized_number(high, q))
        factor = float(require_scalar(x).scales[0] / q.scales[0])
        return stored(rescaled(offset(x), factor), q, x.dtype, least, greatest)


@tflite_operator("LOGISTIC", "TANH", "ELU")
class Sigmoid(TfliteOperator):
    """Sigmoid, hyperbolic tangent, exponential linear unit; of 8 bits a table of values that are computed in float32."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(self, x: Operand) -> Result:
        name = self.node.op_type
        if x.q is None or not self.is_quantized:
            if name == "ELU":
                one, zero = Value.constant(np.float32(1)), Value.constant(np.float32(0))
                negative = apply("subtract", apply("minimum", x.value, zero).call("exp"), one)
                return apply("where", x.call("less", zero), negative, x.value)
            return x.call("sigmoid" if name == "LOGISTIC" else "tanh")
        if x.dtype == "int16":
            if name == "ELU":
                raise self.refuse("elements of int16")
            return (logistic if name == "LOGISTIC" else tanh)(x)
        functions = {
            "LOGISTIC": lambda r: np.float32(1) / (np.float32(1) + correct(np.exp)(-r)),
            "TANH": correct(np.tanh),
            "ELU": lambda r: np.where(r < 0, correct(np.expm1)(np.minimum(r, 0)), r),
        }
        return table_of_reals(x, self.out_q, x.dtype, functions[name])


@tflite_operator("LEAKY_RELU")
class LeakyRelu(TfliteOperator):
    """`x`, or `alpha * x` where it is negative."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(self, x: Operand, *, alpha: float = 0.0) -> Result:
        if x.q is None or not self.is_quantized:
            return x.call("nn.leaky_relu", alpha=alpha)
        own, out = require_scalar(x), self.out_q
        identity = float(own.scales[0] / out.scales[0])
        slope = float(own.scales[0] * np.float32(alpha) / out.scales[0])
        if x.dtype == "int16":
            d = offset(x)
            chosen = apply("where", d.call("greater_equal", number(0)), rescaled(d, identity), rescaled(d, slope))
            return stored(chosen, out, x.dtype)
        low, high = limits(x.dtype)

        def element(i: Any) -> Any:
            d = i - zero_of(own)
            return np.clip(
                np.where(d >= 0, fixed_product(d, identity), fixed_product(d, slope)) + zero_of(out), low, high
            )

        return by_table(x, x.dtype, element)


@tflite_operator("PRELU")
class Prelu(TfliteOperator):
    """`x`, or a slope times it where it is negative; slopes broadcast."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(self, x: Operand, alpha: Operand) -> Result:
        if x.q is None or not self.is_quantized:
            zero = Value.constant(np.float32(0))
            return apply("where", x.call("less", zero), apply("multiply", x.value, alpha.value), x.value)
        own, slope, out = require_scalar(x), require_scalar(alpha), self.out_q
        d = offset(x)
        identity = rescaled(d, float(own.scales[0] / out.scales[0]))
        factor = float(own.scales[0] * slope.scales[0] / out.scales[0])
        bent = rescaled(apply("multiply", d, offset(alpha)), factor)
        return stored(apply("where", d.call("greater_equal", number(0)), identity, bent), out, x.dtype)


@tflite_operator("HARD_SWISH")
class HardSwish(TfliteOperator):
    """`x * relu6(x + 3) / 6`; of 8 bits by multipliers of 16 bits."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8")

    def convert(self, x: Operand) -> Result:
        if x.q is None or not self.is_quantized:
            three, sixth = Value.constant(np.float32(3)), Value.constant(np.float32(1 / 6))
            gate = apply("add", x.value, three).call("clip", a_min=0.0, a_max=6.0)
            return apply("multiply", apply("multiply", x.value, gate), sixth)
        return by_table(x, x.dtype, self._element(x))

    def _element(self, x: Operand) -> Any:
        own, out = require_scalar(x), self.out_q
        low, high = limits(x.dtype)
        fine = np.float32(1 / 128) * own.scales[0]
        to_out, out_shift = multiplier_and_shift(float(fine / out.scales[0]))
        to_gate, gate_shift = multiplier_and_shift(float(fine / np.float32(3 / 32768)))
        if out_shift > 0:
            raise self.refuse(f"scales {own.scales[0]} and {out.scales[0]}")

        def element(i: Any) -> Any:
            d = (i.astype(np.int64) - zero_of(own)) << 7
            gate = d
            if gate_shift > 0:
                gate = _saturated(gate << (gate_shift - 1))
            gate = _half_product(gate, _upper(to_gate))
            if gate_shift > 0:
                gate = _saturated(gate << 1)
            if gate_shift < 0:
                gate = rounded_shift(gate, -gate_shift)
            gate = (gate + (1 << 15)) >> 1
            prescaled = _half_product(d, _upper(to_out))
            product = gate * prescaled
            product = np.where(product >= 0, product >> 15, -((-product) >> 15))
            return np.clip(rounded_shift(product, -out_shift) + zero_of(out), low, high)

        return element


def _upper(multiplier: int) -> int:
    """The upper 16 bits of a multiplier, rounded."""
    return 0x7FFF if multiplier >= (1 << 31) - 1 - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _half_product(a: Any, b: int) -> Any:
    """`SaturatingRoundingDoublingHighMul` of 16 bits: `a * b / 2**15`, a half up."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return np.where(nudged >= 0, nudged >> 15, -((-nudged) >> 15))


def _saturated(x: Any) -> Any:
    return np.clip(x, -32768, 32767)
