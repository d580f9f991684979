"""Arithmetic on expressions. It folds constants and drops neutral operations (`x + 0`, `x * 1`), so that index arithmetic stays
small while it is written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..symbolic_int import larger, signs, smaller
from . import dtypes
from .build import (
    as_expr,
    cast,
    const,
    equal,
    folded,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    match,
    not_equal,
)
from .nodes import BUILDERS, QUOTIENTS, Binary, Call, Const, Expr, Operand


def add(a: Operand, b: Operand) -> Expr:
    """`a + b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if isinstance(a, Const) and isinstance(b, Const):
        return folded("+", operator.add, a, b, dtype)
    if dtypes.is_float(dtype):
        return Binary("+", a, b, dtype)
    if dtype == "bool":
        return logical_or(a, b)
    if isinstance(a, Const):
        a, b = b, a
    if isinstance(b, Const):
        if b.value == 0:
            return a
        if isinstance(a, Binary) and a.op == "+" and isinstance(a.b, Const):
            return add(a.a, folded("+", operator.add, a.b, b, dtype))
    elif isinstance(a, Binary) and a.op == "+" and isinstance(a.b, Const):
        return add(add(a.a, b), a.b)
    elif isinstance(b, Binary) and b.op == "+" and isinstance(b.b, Const):
        return add(add(a, b.a), b.b)
    return Binary("+", a, b, dtype)


def sub(a: Operand, b: Operand) -> Expr:
    """`a - b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if isinstance(a, Const) and isinstance(b, Const):
        return folded("-", operator.sub, a, b, dtype)
    if dtypes.is_float(dtype):
        return Binary("-", a, b, dtype)
    if dtype == "bool":
        return not_equal(a, b)
    if a is b:
        return const(0, dtype)
    if isinstance(b, Const):
        return add(a, Const(dtypes.round_to(-b.value, dtype), dtype))
    if isinstance(a, Binary) and a.op == "+":
        if a.a is b:
            return a.b
        if a.b is b:
            return a.a
        if isinstance(a.b, Const):
            return add(sub(a.a, b), a.b)
    return Binary("-", a, b, dtype)


def mul(a: Operand, b: Operand) -> Expr:
    """`a * b`."""
    a, b = match(a, b)
    dtype = a.dtype
    if isinstance(a, Const) and isinstance(b, Const):
        return folded("*", operator.mul, a, b, dtype)
    if dtype == "bool":
        return logical_and(a, b)
    if isinstance(a, Const):
        a, b = b, a
    if isinstance(b, Const):
        if b.value == 1:
            return a
        if dtypes.is_float(dtype):
            return Binary("*", a, b, dtype)
        if b.value == 0:
            return b
        if isinstance(a, Binary) and isinstance(a.b, Const):
            if a.op == "*":
                return mul(a.a, folded("*", operator.mul, a.b, b, dtype))
            if a.op == "+":
                return add(mul(a.a, b), folded("*", operator.mul, a.b, b, dtype))
    return Binary("*", a, b, dtype)


def div(a: Operand, b: Operand) -> Expr:
    """`a / b` of floats. Integers have floordiv and truncdiv."""
    a, b = match(a, b)
    if not dtypes.is_float(a.dtype):
        raise TypeError(f"/ on {a.dtype}: write floordiv (//), truncdiv, or cast to a float first")
    if isinstance(b, Const):
        if b.value == 1:
            return a
        if isinstance(a, Const) and b.value != 0:
            return folded("/", operator.truediv, a, b, a.dtype)
    return Binary("/", a, b, a.dtype)


def _truncdiv(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _integer_division(op: str, a: Operand, b: Operand, fold: Callable[[int, int], int]) -> Expr:
    a, b = match(a, b)
    if isinstance(b, Const) and b.value != 0:
        if isinstance(a, Const):
            return folded(op, fold, a, b, a.dtype)
        if b.value == 1:
            return a if op in QUOTIENTS else const(0, a.dtype)
    if isinstance(a, Const) and a.value == 0 and not isinstance(b, Const):
        return a
    return Binary(op, a, b, a.dtype)


def floordiv(a: Operand, b: Operand) -> Expr:
    """Quotient rounded down; of floats: floor(a / b). Integer division by zero gives 0."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("floor", (div(a, b),), a.dtype)
    if (
        isinstance(b, Const)
        and signs(b.int_value) == {1}
        and isinstance(a, Binary)
        and a.op == "floordiv"
        and isinstance(a.b, Const)
        and signs(a.b.int_value) == {1}
    ):
        return floordiv(a.a, Const(a.b.value * b.value, a.dtype))
    return _integer_division("floordiv", a, b, operator.floordiv)


def floormod(a: Operand, b: Operand) -> Expr:
    """Remainder of floordiv: has the divisor's sign. Of floats: a - floor(a / b) * b."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return sub(a, mul(floordiv(a, b), b))
    return _integer_division("floormod", a, b, operator.mod)


def truncdiv(a: Operand, b: Operand) -> Expr:
    """Quotient of integers rounded towards zero; of floats: trunc(a / b). Integer division by zero gives 0."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("trunc", (div(a, b),), a.dtype)
    return _integer_division("truncdiv", a, b, _truncdiv)


def truncmod(a: Operand, b: Operand) -> Expr:
    """Remainder of truncdiv: has the dividend's sign; of floats: fmod."""
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        return Call("fmod", (a, b), a.dtype)
    return _integer_division("truncmod", a, b, lambda x, y: x - y * _truncdiv(x, y))


def minimum(a: Operand, b: Operand) -> Expr:
    """The smaller; where a float is NaN, the result is `b` unless `a < b`."""
    a, b = match(a, b)
    if a is b:
        return a
    if isinstance(a, Const) and isinstance(b, Const) and not dtypes.is_float(a.dtype):
        return folded("min", smaller, a, b, a.dtype)
    return Binary("min", a, b, a.dtype)


def maximum(a: Operand, b: Operand) -> Expr:
    """The larger; where a float is NaN, the result is `b` unless `a > b`."""
    a, b = match(a, b)
    if a is b:
        return a
    if isinstance(a, Const) and isinstance(b, Const) and not dtypes.is_float(a.dtype):
        return folded("max", larger, a, b, a.dtype)
    return Binary("max", a, b, a.dtype)


def nan_minimum(a: Operand, b: Operand) -> Expr:
    """The smaller; NaN if either is (IEEE 754's `minimum`)."""
    return _propagating("minimum", "min", minimum(a, b))


def nan_maximum(a: Operand, b: Operand) -> Expr:
    """The larger; NaN if either is (IEEE 754's `maximum`)."""
    return _propagating("maximum", "max", maximum(a, b))


def _propagating(op: str, plain: str, e: Expr) -> Expr:
    """The extreme `e` of two operands as one that keeps NaN. Beside a constant, the plain one does: of a NaN and a number it gives
    its second operand, which is one instruction where processors have it, and not three."""
    if not isinstance(e, Binary) or not dtypes.is_float(e.dtype):
        return e
    for constant, other in ((e.b, e.a), (e.a, e.b)):
        if isinstance(constant, Const):
            return constant if constant.value != constant.value else Binary(plain, constant, other, e.dtype)
    return Binary(op, e.a, e.b, e.dtype)


def negative(a: Operand) -> Expr:
    """`-a`."""
    a = as_expr(a)
    return mul(a, const(-1, a.dtype)) if dtypes.is_float(a.dtype) else sub(const(0, a.dtype), a)


def _bitwise(op: str, a: Operand, b: Operand, fold: Callable[[int, int], int]) -> Expr:
    a, b = match(a, b)
    if dtypes.is_float(a.dtype):
        raise TypeError(f"{op} on {a.dtype}")
    if isinstance(a, Const) and isinstance(b, Const):
        return folded(op, fold, a, b, a.dtype)
    return Binary(op, a, b, a.dtype)


def bitwise_and(a: Operand, b: Operand) -> Expr:
    """`a & b`."""
    return _bitwise("&", a, b, operator.and_)


def bitwise_or(a: Operand, b: Operand) -> Expr:
    """`a | b`."""
    return _bitwise("|", a, b, operator.or_)


def bitwise_xor(a: Operand, b: Operand) -> Expr:
    """`a ^ b`."""
    return _bitwise("^", a, b, operator.xor)


def bitwise_not(a: Operand) -> Expr:
    """`~a`; of a bool, its opposite."""
    a = as_expr(a)
    return logical_not(a) if a.dtype == "bool" else bitwise_xor(a, const(-1, a.dtype))


def shift_left(a: Operand, b: Operand) -> Expr:
    """`a << b` of integers."""
    return _bitwise("<<", a, b, lambda x, n: x << n if 0 <= n < 64 else 0)


def shift_right(a: Operand, b: Operand) -> Expr:
    """`a >> b` of integers; signed ones keep their sign."""
    return _bitwise(">>", a, b, lambda x, n: x >> max(0, min(n, 64)))


BUILDERS |= {
    "+": add,
    "-": sub,
    "*": mul,
    "/": div,
    "floordiv": floordiv,
    "floormod": floormod,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "min": minimum,
    "max": maximum,
    "minimum": nan_minimum,
    "maximum": nan_maximum,
    "<": less,
    "<=": less_equal,
    "==": equal,
    "!=": not_equal,
    "and": logical_and,
    "or": logical_or,
    "<<": shift_left,
    ">>": shift_right,
    "&": bitwise_and,
    "|": bitwise_or,
    "^": bitwise_xor,
    "~": bitwise_not,
    "negative": negative,
    "cast": cast,
}
