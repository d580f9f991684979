"""Arithmetic of two tensors, broadcast."""

from __future__ import annotations

import math
from typing import ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..activations import activated, activation_name
from ..operator import NUMBERS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import activation_range, number, offset, require_scalar, rescaled, scale_of, stored


def scales(a: Operand, b: Operand) -> tuple[float, float, float]:
    """The scales of two inputs divided by twice the larger one, and that."""
    first, second = scale_of(require_scalar(a)), scale_of(require_scalar(b))
    twice = 2 * max(first, second)
    return first / twice, second / twice, twice


def shifted(x: Value, bits: int) -> Value:
    """int32 times a power of two."""
    return apply("left_shift", x, number(bits))


class _Binary(TfliteOperator):
    """An operator of two tensors, with an activation behind it where it has one."""

    types: ClassVar[tuple[str, ...]] = NUMBERS
    relay = ""

    def integers(self, a: Operand, b: Operand) -> Value:
        """The quantized result in steps of the output, without its zero point."""
        raise self.refuse(f"elements of {a.dtype} with scales")

    def plain(self, a: Operand, b: Operand, activation: int = 0) -> Value:
        """The result for numbers without scales, or quantized."""
        if self.is_quantized and a.q is not None and b.q is not None and a.dtype in ("int8", "uint8", "int16"):
            low, high = activation_range(activation_name(activation), self.out_q, a.dtype)
            return stored(self.integers(a, b), self.out_q, a.dtype, low, high)
        return activated(apply(self.relay, a.value, b.value), activation)


@tflite_operator("ADD", "SUB")
class Sum(_Binary):
    """`a + b` or `a - b`; integers are added in finer steps than those of inputs and output, of 20 bits."""

    def convert(
        self, a: Operand, b: Operand, *, fused_activation_function: int = 0, pot_scale_int16: bool = True
    ) -> Result:
        self.relay = "add" if self.node.op_type == "ADD" else "subtract"
        return self.plain(a, b, fused_activation_function)

    def integers(self, a: Operand, b: Operand) -> Value:
        sign = -1 if self.node.op_type == "SUB" else 1
        if a.dtype == "int16" and (shifts := self._powers(a, b)) is not None:
            left = rescaled(cast(a.value, "int32"), 2.0 ** shifts[0])
            right = rescaled(cast(b.value, "int32"), 2.0 ** shifts[1])
            return apply(self.relay, left, right)
        bits = 15 if a.dtype == "int16" else 20
        first, second, twice = scales(a, b)
        left = rescaled(shifted(offset(a), bits), first)
        right = rescaled(shifted(offset(b), bits), sign * second)
        return rescaled(apply("add", left, right), twice / ((1 << bits) * scale_of(self.out_q)))

    def _powers(self, a: Operand, b: Operand) -> tuple[int, int] | None:
        """The shifts of inputs whose scales, and that of the output, are powers of two; None for others."""
        logs = [
            _exact_log2(s) for s in (scale_of(require_scalar(a)), scale_of(require_scalar(b)), scale_of(self.out_q))
        ]
        if any(n is None for n in logs):
            return None
        first, second, out = (n for n in logs if n is not None)
        return first - out, second - out


def _exact_log2(scale: float) -> int | None:
    """The exponent of a power of two, within a thousandth; None for another number."""
    exact = math.log2(scale)
    return round(exact) if abs(exact - round(exact)) < 1e-3 else None


@tflite_operator("MUL")
class Product(_Binary):
    """`a * b`."""

    relay = "multiply"

    def convert(self, a: Operand, b: Operand, *, fused_activation_function: int = 0) -> Result:
        return self.plain(a, b, fused_activation_function)

    def integers(self, a: Operand, b: Operand) -> Value:
        # The kernel computes the quotient of scales in float32.
        factor = require_scalar(a).scales[0] * require_scalar(b).scales[0] / self.out_q.scales[0]
        return rescaled(apply("multiply", offset(a), offset(b)), float(factor))


@tflite_operator("SQUARED_DIFFERENCE")
class SquaredDifference(_Binary):
    """`(a - b)` squared."""

    def convert(self, a: Operand, b: Operand) -> Result:
        if self.is_quantized and a.q is not None:
            return self.plain(a, b)
        difference = apply("subtract", a.value, b.value)
        return apply("multiply", difference, difference)

    def integers(self, a: Operand, b: Operand) -> Value:
        bits = 0 if a.dtype == "int16" else 7
        first, second, twice = scales(a, b)
        left, right = rescaled(shifted(offset(a), bits), first), rescaled(shifted(offset(b), bits), second)
        difference = apply("subtract", left, right)
        square = apply("multiply", difference, difference)
        return rescaled(square, twice * twice / ((1 << (2 * bits)) * scale_of(self.out_q)))


@tflite_operator("DIV")
class Quotient(_Binary):
    """`a / b`; of integers without scales rounded towards zero."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int32", "uint8", "int8")

    def convert(self, a: Operand, b: Operand, *, fused_activation_function: int = 0) -> Result:
        self.relay = "divide" if a.dtype == "float32" else "trunc_divide"
        return self.plain(a, b, fused_activation_function)

    def integers(self, a: Operand, b: Operand) -> Value:
        from ..reciprocal import quotient

        factor = require_scalar(a).scales[0] / (require_scalar(b).scales[0] * self.out_q.scales[0])
        return quotient(a, b, float(factor))


@tflite_operator("MAXIMUM", "MINIMUM")
class Extreme(TfliteOperator):
    """The larger or the smaller element; of quantized tensors, which have one scale, the integer."""

    types: ClassVar[tuple[str, ...]] = NUMBERS

    def convert(self, a: Operand, b: Operand) -> Result:
        return apply("maximum" if self.node.op_type == "MAXIMUM" else "minimum", a.value, b.value)


@tflite_operator("POW", "FLOOR_DIV", "FLOOR_MOD", "ATAN2", "BITWISE_XOR", "RIGHT_SHIFT")
class Other(TfliteOperator):
    """Powers, quotients rounded down and their remainders, angles, bits."""

    types: ClassVar[tuple[str, ...]] = NUMBERS

    def convert(self, a: Operand, b: Operand) -> Result:
        name = self.node.op_type
        if name == "ATAN2":
            return _atan2(a.value, b.value)
        if name == "POW" and a.dtype not in ("float32", "float64"):
            return _integer_power(a.value, b.value)
        names = {
            "POW": "power",
            "FLOOR_DIV": "floor_divide",
            "FLOOR_MOD": "floor_mod",
            "BITWISE_XOR": "bitwise_xor",
            "RIGHT_SHIFT": "right_shift",
        }
        return apply(names[name], a.value, b.value)


def _integer_power(a: Value, b: Value) -> Value:
    """Powers of integers by their bits: squares, and products of those that the exponent has."""
    result, square = Value.constant(np.ones((), a.dtype)), a
    one, zero = Value.constant(np.ones((), a.dtype)), Value.constant(np.zeros((), a.dtype))
    for bit in range(5):
        place = Value.constant(np.asarray(bit, a.dtype))
        has = apply("not_equal", apply("bitwise_and", apply("right_shift", b, place), one), zero)
        result = apply("multiply", result, apply("where", has, square, one))
        square = apply("multiply", square, square)
    return result


def _atan2(y: Value, x: Value) -> Value:
    """The angle of points `(x, y)`, from -π to π."""
    zero, pi = (Value.constant(np.asarray(n, y.dtype)) for n in (0, math.pi))
    is_left, is_below = apply("less", x, zero), apply("less", y, zero)
    angle = apply("divide", y, x).call("atan")
    turn = apply("where", is_below, pi.call("negative"), pi)
    half = Value.constant(np.asarray(math.pi / 2, y.dtype))
    upright = apply("where", is_below, half.call("negative"), half)
    both = apply("logical_and", apply("equal", x, zero), apply("equal", y, zero))
    angle = apply("where", apply("equal", x, zero), upright, apply("where", is_left, apply("add", angle, turn), angle))
    return apply("where", both, zero, angle)


@tflite_operator("ADD_N")
class SumOfMany(TfliteOperator):
    """The sum of any number of tensors."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int32")

    def convert(self, *inputs: Operand) -> Result:
        if not inputs:
            raise self.damaged("it has no inputs")
        total = inputs[0].value
        for x in inputs[1:]:
            total = apply("add", total, x.value)
        return total
