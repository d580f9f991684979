"""Sums of integers of 16 bits in 32 bits, which hold the same results.

    int32(int16(x[i]) - 128)                    ⇒  int32(x[i]) - 128                    x uint8: the difference is in int16
    int32(select(inside, int16(x[i]) - 128, 0)) ⇒  select(inside, int32(x[i]) - 128, 0)

The conversion beside a load comes with the load on many processors.
"""

from __future__ import annotations

from ...tir import dtypes
from ...tir.expr import Binary, Cast, Const, Expr, Load, Select, const, if_then_else


def widen_first(e: Expr) -> Expr:
    """The node with the conversion right behind the load, and the same value; other nodes unchanged."""
    if not isinstance(e, Cast) or e.dtype != "int32":
        return e
    padded = e.value
    if isinstance(padded, Select) and padded.lazy and isinstance(padded.other, Const):
        inside = _widened(padded.then)
        return e if inside is None else if_then_else(padded.cond, inside, const(padded.other.int_value))
    return _widened(padded) or e


def _widened(total: Expr) -> Expr | None:
    """The sum of a load and a number in 32 bits; None for other expressions."""
    if not isinstance(total, Binary) or total.op not in ("+", "-") or total.dtype != "int16":
        return None
    if not isinstance(total.a, Cast) or not isinstance(total.a.value, Load) or not isinstance(total.b, Const):
        return None
    load, number = total.a.value, total.b.int_value
    if load.dtype not in ("int8", "uint8"):
        return None
    ends = [n + number if total.op == "+" else n - number for n in dtypes.int_range(load.dtype)]
    least, most = dtypes.int_range(total.dtype)
    if min(ends) < least or max(ends) > most:
        return None
    return Binary(total.op, Cast(load, "int32"), const(number), "int32")
