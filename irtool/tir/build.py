"""Builders of expressions: literals, conversions, comparisons, logic and choices. All of them fold constants.

Sums, products and other arithmetic are in `arithmetic`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from ..symbolic_int import SymbolicInt, Undecided, is_open, signs, strict
from . import dtypes
from .nodes import Binary, Cast, Const, Expr, Not, Operand, Select


def const(value: int | float | bool, dtype: str | None = None) -> Const:
    """A literal; without a dtype: bool, int32 (int64 where it must be) or float32."""
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if is_open(value) or -(1 << 31) <= value < 1 << 31 else "int64"
        else:
            dtype = "float32"
    if value.__class__ is SymbolicInt:
        return Const(value, dtype)
    if value.__class__ is int and dtype in ("int32", "int64") and -(1 << 31) <= value < 1 << 31:
        return Const(value, dtype)
    return Const(dtypes.round_to(value, dtype), dtype)


def as_expr(value: Any, dtype: str | None = None) -> Expr:
    """`value` as an expression: numbers become literals, a tensor of rank 0 its element."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int | float):
        return const(value, dtype)
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", None) == 0:  # numpy scalar
        return const(item(), dtype or str(value.dtype))
    element = getattr(value, "element", None)
    if element is not None:
        return element()
    raise TypeError(f"{type(value).__name__} is not an expression")


def match(a: Operand, b: Operand) -> tuple[Expr, Expr]:
    """Both operands in the dtype they are combined in; a Python number takes the dtype of the other operand."""
    if not isinstance(a, Expr):
        a = _literal_beside(a, b)
    if not isinstance(b, Expr):
        b = _literal_beside(b, a)
    if a.dtype == b.dtype:
        return a, b
    dtype = dtypes.join(a.dtype, b.dtype)
    return cast(a, dtype), cast(b, dtype)


def _literal_beside(value: Any, other: Any) -> Expr:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return as_expr(value)
    if not isinstance(other, Expr):
        return const(value)
    dtype = other.dtype
    if isinstance(value, float) and not dtypes.is_float(dtype):
        return const(value, "float32")
    if dtype == "bool":
        return const(value)
    if isinstance(value, int) and dtypes.is_int(dtype) and not is_open(value):  # kernels count open lengths in 64 bits
        low, high = dtypes.int_range(dtype)
        if not low <= value <= high and not dtypes.is_unsigned(dtype):
            return const(value, "int64")
    return const(value, dtype)


def folded(sign: str, op: Callable[[Any, Any], Any], a: Const, b: Const, dtype: str) -> Expr:
    """The result of an operation on literals. The run computes it where it is no formula: on floats, or if a length decides it."""
    if isinstance(a.value, SymbolicInt) or isinstance(b.value, SymbolicInt):
        try:
            value = None if dtypes.is_float(dtype) else strict(op)(a.value, b.value)
        except Undecided:
            value = None
        return Binary(sign, a, b, dtype) if value is None else const(value, dtype)
    return Const(dtypes.round_to(op(a.value, b.value), dtype), dtype)


def _compare(op: str, a: Operand, b: Operand, fold: Callable[[Any, Any], bool]) -> Expr:
    a, b = match(a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        outcomes = _outcomes(a, b, fold)
        return const(outcomes.pop(), "bool") if len(outcomes) == 1 else Binary(op, a, b, "bool")
    if a is b and not dtypes.is_float(a.dtype):
        return const(op in ("<=", "=="), "bool")
    return Binary(op, a, b, "bool")


def _outcomes(a: Const, b: Const, test: Callable[[Any, Any], bool]) -> set[bool]:
    """The outcomes of a comparison of literals for all lengths."""
    if not isinstance(a.value, SymbolicInt) and not isinstance(b.value, SymbolicInt):
        return {test(a.value, b.value)}
    if dtypes.is_float(a.dtype):
        return {True, False}
    return {test(sign, 0) for sign in signs(a.int_value - b.int_value)}


def less(a: Operand, b: Operand) -> Expr:
    """`a < b`."""
    return _compare("<", a, b, operator.lt)


def less_equal(a: Operand, b: Operand) -> Expr:
    """`a <= b`."""
    return _compare("<=", a, b, operator.le)


def equal(a: Operand, b: Operand) -> Expr:
    """`a == b`."""
    return _compare("==", a, b, operator.eq)


def not_equal(a: Operand, b: Operand) -> Expr:
    """`a != b`."""
    return _compare("!=", a, b, operator.ne)


def as_bool(value: Operand) -> Expr:
    """`value != 0` as a bool."""
    value = as_expr(value)
    return value if value.dtype == "bool" else not_equal(value, const(0, value.dtype))


def logical_and(a: Operand, b: Operand) -> Expr:
    """Both; `b` is evaluated only where `a` holds."""
    a, b = as_bool(a), as_bool(b)
    if isinstance(a, Const):
        return b if a.value else a
    if isinstance(b, Const):
        return a if b.value else b
    return a if a is b else Binary("and", a, b, "bool")


def logical_or(a: Operand, b: Operand) -> Expr:
    """Either; `b` is evaluated only where `a` does not hold."""
    a, b = as_bool(a), as_bool(b)
    if isinstance(a, Const):
        return a if a.value else b
    if isinstance(b, Const):
        return b if b.value else a
    return a if a is b else Binary("or", a, b, "bool")


_OPPOSITE = {"==": "!=", "!=": "=="}


def logical_not(value: Operand) -> Expr:
    """The opposite of a bool."""
    value = as_bool(value)
    if isinstance(value, Const):
        return const(not value.value, "bool")
    if isinstance(value, Not):
        return value.value
    if isinstance(value, Binary) and not dtypes.is_float(value.a.dtype):
        op, a, b = value.op, value.a, value.b
        if op == "<":
            return less_equal(b, a)
        if op == "<=":
            return less(b, a)
        if op in _OPPOSITE:
            return Binary(_OPPOSITE[op], a, b, "bool")
    return Not(value)


def cast(value: Operand, dtype: str) -> Expr:
    """`value` converted."""
    value = as_expr(value)
    if value.dtype == dtype:
        return value
    if dtype == "bool":
        return as_bool(value)
    if isinstance(value, Const):
        number = value.value
        if dtypes.is_float(dtype) or not isinstance(number, float):
            return const(number, dtype)
        if math.isfinite(number) and dtypes.int_range(dtype)[0] <= number <= dtypes.int_range(dtype)[1]:
            return const(int(number), dtype)
    return Cast(value, dtype)


def _branches(cond: Operand, then: Operand, other: Operand, lazy: bool) -> Expr:
    cond = as_bool(cond)
    then, other = match(then, other)
    if isinstance(cond, Const):
        return then if cond.value else other
    if then is other:
        return then
    return Select(cond, then, other, lazy)


def select(cond: Operand, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; both may be evaluated, so both must be safe to."""
    return _branches(cond, then, other, False)


def if_then_else(cond: Operand, then: Operand, other: Operand) -> Expr:
    """`then` where `cond` holds, else `other`; only that branch is evaluated (it may guard a read)."""
    return _branches(cond, then, other, True)


def all_of(conditions: Iterable[Operand]) -> Expr:
    """Logical and of them all."""
    expr: Expr = const(True)
    for c in conditions:
        expr = logical_and(expr, c)
    return expr


def any_of(conditions: Iterable[Operand]) -> Expr:
    """Logical or of them all."""
    expr: Expr = const(False)
    for c in conditions:
        expr = logical_or(expr, c)
    return expr
