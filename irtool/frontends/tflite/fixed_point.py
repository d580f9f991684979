"""Fixed-point arithmetic of gemmlowp on values of the program, in int64; `tables` has the same on known integers."""

from __future__ import annotations

from ...deferred import np
from ..onnx.arithmetic import cast
from ..onnx.value import Value, apply


def wide(value: int) -> Value:
    """A scalar of int64."""
    return Value.constant(np.int64(value))


def doubled_product(a: Value, b: Value) -> Value:
    """`SaturatingRoundingDoublingHighMul`: `a * b / 2**31`, a half up."""
    return apply("right_shift", apply("add", apply("multiply", a, b), wide(1 << 30)), wide(31))


def divided(x: Value, bits: Value) -> Value:
    """`RoundingDivideByPOT`: `x / 2**bits`, a half away from zero."""
    half = apply("right_shift", apply("left_shift", wide(1), bits), wide(1))
    is_less = apply("logical_and", x.call("less", wide(0)), bits.call("greater", wide(0)))
    less = apply("where", is_less, wide(1), wide(0))
    return apply("right_shift", apply("subtract", apply("add", x, half), less), bits)


def saturated(x: Value) -> Value:
    """Integers limited to 32 bits."""
    return apply("minimum", apply("maximum", x, wide(-(1 << 31))), wide((1 << 31) - 1))


def scaled(x: Value, bits: Value) -> Value:
    """`x * 2**bits` limited to 32 bits; with a negative number of bits divided, a half away from zero."""
    zero = wide(0)
    left, right = apply("maximum", bits, zero), apply("maximum", apply("subtract", zero, bits), zero)
    return divided(saturated(apply("left_shift", x, left)), right)


def bit_length(x: Value) -> Value:
    """The bits of positive integers, in int32: the number of powers of two that each reaches. The last axis has one element."""
    powers = Value.constant(np.int64(1) << np.arange(32))
    return cast(x.call("greater_equal", powers), "int32").call("sum", axis=[-1], keepdims=True)


def reciprocal_of_one_and(a: Value) -> Value:
    """`1 / (1 + a)` of numbers from 0 to 1 with 31 bits behind the point, by three steps of Newton's."""
    half_sum = apply("right_shift", apply("add", a, wide(1 << 31)), wide(1))
    x = apply("add", wide(1515870810), doubled_product(half_sum, wide(-1010580540)))
    for _ in range(3):
        rest = apply("subtract", wide(1 << 29), doubled_product(half_sum, x))
        x = apply("add", x, saturated(apply("left_shift", doubled_product(x, rest), wide(2))))
    return saturated(apply("left_shift", x, wide(1)))
