"""Arithmetic on values, with numbers as constants of the same type."""

from __future__ import annotations

from collections.abc import Callable

from ...deferred import np
from ...tir.dtypes import is_half
from .value import Value, apply

Operand = Value | float


def binary(name: str, x: Operand, y: Operand) -> Value:
    """The call of a broadcasting operator; a number takes the type of the other side."""
    like = x if isinstance(x, Value) else y
    assert isinstance(like, Value)
    return apply(name, as_value(x, like), as_value(y, like))


def as_value(x: Operand, like: Value) -> Value:
    """A value as it is; a number as a scalar of the type of `like`."""
    return x if isinstance(x, Value) else scalar(x, like.dtype)


def scalar(number: float, dtype: str) -> Value:
    """A constant of rank 0."""
    return Value.constant(np.asarray(number), dtype)


def add(x: Operand, y: Operand) -> Value:
    """`x + y`."""
    return binary("add", x, y)


def subtract(x: Operand, y: Operand) -> Value:
    """`x - y`."""
    return binary("subtract", x, y)


def multiply(x: Operand, y: Operand) -> Value:
    """`x * y`."""
    return binary("multiply", x, y)


def divide(x: Operand, y: Operand) -> Value:
    """`x / y`."""
    return binary("divide", x, y)


def in_single(x: Value, function: Callable[[Value], Value]) -> Value:
    """The function of a tensor; of one of 16 bits computed in float32, and rounded once."""
    return cast(function(cast(x, "float32")), x.dtype) if is_half(x.dtype) else function(x)


def cast(x: Value, dtype: str) -> Value:
    """The elements as another type; the value itself where they are of it."""
    return x if x.dtype == dtype else x.call("cast", dtype=dtype)
