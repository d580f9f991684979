"""`log(1 + y)` and `exp(x) - 1` in operators of Relay, exact for small `y` and `x`, too."""

from __future__ import annotations

from .value import Value


def _number(x: Value, number: float) -> Value:
    return Value.constant(number, x.dtype)


def log_of_one_plus(y: Value) -> Value:
    """`log(1 + y)` of numbers from 0 on, as `2 atanh(y / (y + 2))`: relative to its size as exact as these."""
    return y.call("divide", y.call("add", _number(y, 2))).call("atanh").call("multiply", _number(y, 2))


def exp_minus_one(x: Value) -> Value:
    """`exp(x) - 1` of numbers up to 0, as `tanh(x / 2) (exp(x) + 1)`: relative to its size as exact as these."""
    half = x.call("multiply", _number(x, 0.5)).call("tanh")
    return half.call("multiply", x.call("exp").call("add", _number(x, 1)))
