"""Sigmoid and hyperbolic tangent of 16-bit numbers with a scale that is a power of two, or any."""

from __future__ import annotations

import math
from functools import cache

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand
from ..quantities import number, plus, require_scalar, scale_of

_STEP = 1 / 24
"""Between two values of the table."""
_ABOVE = 0x800011009020440005C0467BAEFA7BD110 | 1 << 255
"""A bit for each value that is a unit above the nearest number: found by running the kernel on inputs that hit the table."""


@cache
def sigmoid_table() -> tuple[int, ...]:
    """The sigmoid of 0 to 10.6 in 256 steps, 16 bits behind the point; some are a unit above the nearest number, as in the kernels' table."""
    nearest = (math.floor(65536 / (1 + math.exp(-i * _STEP)) + 0.5) for i in range(256))
    return tuple(n + (_ABOVE >> i & 1) for i, n in enumerate(nearest))


def _multiplier(x: Operand, tanh_: bool) -> tuple[int, int]:
    """The factor that turns integers into steps of 1 / 512 of the table, and a shift to the right."""
    scale = scale_of(require_scalar(x))
    exponent = math.log2(scale)
    if abs(exponent - round(exponent)) < 1e-3:
        left = 12 + round(exponent)
        if (0 <= left <= 1) if tanh_ else left == 0:
            return 3 << left, 0
    factor = scale * 4096 * 3
    shift = 0
    while factor <= 32767 / 2 and shift <= 30:
        shift += 1
        factor *= 2
    return int(np.float64(factor)), shift


def _looked_up(size: Value, bits: int) -> tuple[Value, Value]:
    """The table's values at `size >> bits` and behind, interpolated by the lower bits; and where it ends."""
    table = Value.constant(np.array([*sigmoid_table(), 0], np.int32))
    places = apply("right_shift", size, number(bits))
    beyond = places.call("greater_equal", number(255))
    places = apply("minimum", places, number(254))
    a = apply("take", table, places, axis=0, mode="fast")
    b = apply("take", table, plus(places, 1), axis=0, mode="fast")
    rest = apply("bitwise_and", size, number((1 << bits) - 1))
    between = apply("add", apply("left_shift", a, number(bits)), apply("multiply", rest, apply("subtract", b, a)))
    return between, beyond


def _steps(x: Operand, tanh_: bool) -> Value:
    multiplier, shift = _multiplier(x, tanh_)
    wide = apply("multiply", cast(x.value, "int32"), number(multiplier))
    if not shift:
        return wide
    return apply("right_shift", plus(wide, 1 << (shift - 1)), number(shift))


def logistic(x: Operand) -> Value:
    """The sigmoid, 15 bits behind the point."""
    steps = _steps(x, False)
    between, beyond = _looked_up(steps.call("abs"), 9)
    result = apply("where", beyond, number(0x7FFF << 10), between)
    negative = apply("subtract", number((1 << 25) + (1 << 9) - 1), result)
    chosen = apply("where", steps.call("greater_equal", number(0)), plus(result, 1 << 9), negative)
    return cast(apply("right_shift", chosen, number(10)), "int16")


def tanh(x: Operand) -> Value:
    """The hyperbolic tangent, 15 bits behind the point: twice the sigmoid of twice the number, less one."""
    steps = _steps(x, True)
    between, beyond = _looked_up(steps.call("abs"), 8)
    result = apply("where", beyond, number(0xFFFF << 8), between)
    positive = plus(result, -(1 << 23) + (1 << 7))
    negative = apply("subtract", number((1 << 23) + (1 << 7) - 1), result)
    chosen = apply("where", steps.call("greater_equal", number(0)), positive, negative)
    return cast(apply("right_shift", chosen, number(8)), "int16")
