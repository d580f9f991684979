"""Integer division and functions by operations of processors and C."""

from __future__ import annotations

from ...tir import dtypes
from ...tir.expr import (
    Binary,
    Call,
    Const,
    Expr,
    bitwise_and,
    const,
    logical_and,
    logical_not,
    logical_or,
    rewrite,
    select,
    shift_right,
    truncdiv,
    truncmod,
)
from ...tir.intrinsics import exp, isinf, isnan, sqrt
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import PrimFunc, rewrite_stmt


def lower_intrinsics(f: PrimFunc) -> PrimFunc:
    """The function without `floordiv` and `floormod` of integers, `sigmoid`, `rsqrt` and `isfinite`.

    Division by a power of two is a shift or a mask; of what is never negative, `truncdiv` and `truncmod`; else these with a
    correction for remainders of the wrong sign.
    """
    simplify = Simplifier(loop_bounds(f))
    memo: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        if isinstance(e, Call):
            return _function(e)
        if isinstance(e, Binary) and e.op in ("floordiv", "floormod") and dtypes.is_int(e.dtype):
            return _division(e, simplify)
        return e

    return f.with_body(rewrite_stmt(f.body, lambda s: s, lambda e: rewrite(e, change, memo)))


def _function(e: Call) -> Expr:
    x = e.args[0] if e.args else e
    if e.name == "sigmoid":
        one = const(1.0, e.dtype)
        return one / (one + exp(const(0.0, e.dtype) - x))
    if e.name == "rsqrt":
        return const(1.0, e.dtype) / sqrt(x)
    if e.name == "isfinite":
        return logical_not(logical_or(isnan(x), isinf(x)))
    return e


def _division(e: Binary, simplify: Simplifier) -> Expr:
    """Quotients and remainders that are rounded down, by those that are rounded towards zero."""
    is_quotient = e.op == "floordiv"
    a, b, dtype = e.a, e.b, e.dtype
    zero = const(0, dtype)
    if isinstance(b, Const) and b.value > 0 and not int(b.value) & (int(b.value) - 1):
        if is_quotient:
            return shift_right(a, const(int(b.value).bit_length() - 1, dtype))
        return bitwise_and(a, const(int(b.value) - 1, dtype))
    if dtypes.is_unsigned(dtype) or (simplify.range(a)[0] >= 0 and simplify.range(b)[0] >= 0):
        return truncdiv(a, b) if is_quotient else truncmod(a, b)
    rest = truncmod(a, b)
    if simplify.range(b)[0] >= 0:
        sign = shift_right(rest, const(8 * dtypes.itemsize(dtype) - 1, dtype))  # -1 of negative ones, else 0
        return truncdiv(a, b) + sign if is_quotient else rest + bitwise_and(b, sign)
    rounds_down = logical_or(logical_and(b >= zero, rest >= zero), logical_and(b < zero, rest <= zero))
    if is_quotient:
        return select(rounds_down, truncdiv(a, b), truncdiv(a, b) - const(1, dtype))
    return select(rounds_down, rest, rest + b)
