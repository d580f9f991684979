"""The logarithm of softmax of signed bytes, in fixed point."""

from __future__ import annotations

import math
from typing import Any

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..fixed_point import bit_length, divided, doubled_product, reciprocal_of_one_and, saturated, scaled, wide
from ..operator import Operand
from ..quantities import limited, multiplier_and_shift, plus, require_scalar
from ..tables import doubled_high_product, rounded_shift

_BITS = 5
"""Bits of inputs in front of the point."""
_SUM_BITS = 12
"""Bits of sums of exponentials in front of the point."""
_FACTORS = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242))
"""`exp(-2**n)` with 31 bits behind the point, by n."""


def log_softmax(x: Operand) -> Value:
    """The logarithm of softmax along the last axis, in steps of 1 / 16 below 127."""
    scale = float(require_scalar(x).scales[0])
    multiplier, left = multiplier_and_shift(min(scale * (1 << (31 - _BITS)), (1 << 31) - 1.0))
    reverse, reverse_left = multiplier_and_shift((1 << (31 - left)) / multiplier)
    least = -math.floor(((1 << _BITS) - 1) * (1 << (31 - _BITS)) / (1 << left))
    distance = np.arange(256, dtype=np.int64)
    steps = rounded_shift(doubled_high_product(-distance << left, multiplier), 0)
    powers = np.where(-distance >= least, rounded_shift(exponential(steps), _SUM_BITS), 0)
    data = cast(x.value, "int32")
    below = apply("subtract", data.call("max", axis=[-1], keepdims=True), data)
    total = _looked_up(powers, below).call("sum", axis=[-1], keepdims=True)
    logarithm = _logarithm(total)
    shifted = apply("subtract", logarithm, wide(1 << 31))
    limit = divided(doubled_product(shifted, wide(reverse)), wide(max(-reverse_left, 0)))
    limit = apply("maximum", limit, wide(least - 1))
    difference = apply("subtract", _looked_up(steps, below), logarithm)
    result = cast(divided(difference, wide(31 - _BITS - 4)), "int32")
    inside = apply("greater", apply("negative", cast(below, "int64")), limit)
    least_result = Value.constant(np.int32(-128))
    return cast(apply("where", inside, limited(plus(result, 127), -128, 127), least_result), "int8")


def _looked_up(table: Any, places: Value) -> Value:
    return apply("take", Value.constant(np.asarray(table, np.int64)), places, axis=0, mode="fast")


def exponential(a: Any) -> Any:
    """`exp_on_negative_values` of numbers with 26 bits behind the point; the result has 31."""
    a = np.asarray(a, np.int64)
    quarter = 1 << (31 - _BITS - 2)
    rest = (a & (quarter - 1)) - quarter
    result = _near_zero(np.clip(rest << _BITS, -(1 << 31), (1 << 31) - 1))
    remainder = rest - a
    for exponent, factor in _FACTORS:
        bit = 1 << (31 - _BITS + exponent)
        result = np.where(remainder & bit, doubled_high_product(result, factor), result)
    return np.where(a == 0, (1 << 31) - 1, result)


def _near_zero(a: Any) -> Any:
    """The exponential of numbers from -1/4 to 0, by the first terms of the series around -1/8."""
    x = a + (1 << 28)
    square = doubled_high_product(x, x)
    cube, fourth = doubled_high_product(square, x), doubled_high_product(square, square)
    terms = doubled_high_product(rounded_shift(fourth, 2) + cube, 715827883) + square
    return 1895147668 + doubled_high_product(1895147668, x + rounded_shift(terms, 1))


def _logarithm(total: Value) -> Value:
    """`log_x_for_x_greater_than_or_equal_to_1` of sums, which have 19 bits behind the point; the result has 26."""
    quarter, root_half, fourth_root = wide(8388608), wide(1518500250), wide(1805811301)
    zeros = apply("subtract", wide(32), cast(bit_length(total), "int64"))
    first = doubled_product(scaled(total, apply("subtract", zeros, wide(1))), root_half)
    first = saturated(apply("left_shift", first, wide(1)))
    power = saturated(apply("left_shift", apply("subtract", wide(_SUM_BITS), zeros), wide(25)))
    power = saturated(apply("add", power, quarter))
    other = doubled_product(total, root_half)
    headroom = apply("subtract", wide(31), cast(bit_length(other), "int64"))
    second = scaled(total, headroom)
    other_power = saturated(apply("left_shift", apply("subtract", wide(_SUM_BITS), headroom), wide(25)))
    other_power = saturated(apply("subtract", other_power, quarter))
    r, power = apply("minimum", first, second), apply("maximum", power, other_power)
    p = apply("right_shift", apply("add", apply("add", r, fourth_root), wide(1)), wide(1))
    q = apply("subtract", r, fourth_root)
    q = apply("add", q, q)
    square = doubled_product(q, q)
    numerator = apply("add", doubled_product(q, r), doubled_product(doubled_product(q, square), wide(117049297)))
    inner = apply("add", apply("add", wide(1057819769), q), doubled_product(wide(127690142), square))
    denominator = apply("add", doubled_product(p, inner), doubled_product(wide(638450708), q))
    quotient = doubled_product(divided(numerator, wide(6)), reciprocal_of_one_and(denominator))
    return saturated(apply("left_shift", apply("add", doubled_product(power, wide(1488522236)), quotient), wide(1)))
