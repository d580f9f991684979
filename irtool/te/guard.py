"""Indices that come from data, made safe: for any integer, the index is within its axis.

An index that is read from a tensor can be any number. These are the forms in which it becomes an index; the verifier of
loop nests (`irtool.tir.verify`) refuses a read whose index it cannot bound.
"""

from __future__ import annotations

import operator

from ..symbolic_int import holds, is_known
from ..symbolic_int import maximum as greater_extent
from ..tir import dtypes
from ..tir.expr import Expr, Operand, as_expr, cast, const, floormod, maximum, minimum


def clip_index(index: Operand, extent: int) -> Expr:
    """The nearest index within `0 … extent - 1`, as int32; of a float, that of its whole part (0 for NaN).

    Unsigned numbers are compared as such. An axis of extent 0 has no index; the result is 0 then.
    """
    last = greater_extent(extent - 1, 0)
    expr = as_expr(index)
    if dtypes.is_float(expr.dtype):  # a number that int32 does not hold is clipped all the same; NaN gives 0
        limit = const(float(last), expr.dtype) if is_known(last) else cast(const(last, "int32"), expr.dtype)
        expr = minimum(maximum(expr, const(0.0, expr.dtype)), limit)
    position = _widened(expr)
    low, high = dtypes.int_range(position.dtype)
    if not holds(operator.ge, last, high):
        position = minimum(position, const(last, position.dtype))
    if low < 0:
        position = maximum(position, const(0, position.dtype))
    return cast(position, "int32")


def wrap_index(index: Operand, extent: int) -> Expr:
    """The index within `0 … extent - 1` that differs from `index` by a multiple of the extent, as int32."""
    position = _widened(as_expr(index))
    if extent - 1 > dtypes.int_range(position.dtype)[1]:
        position = cast(position, "int64")
    return cast(floormod(position, const(greater_extent(extent, 1), position.dtype)), "int32")


def _widened(index: Expr) -> Expr:
    """The number in a dtype that holds every extent: narrow integers as int32, floats cut to int32."""
    if dtypes.is_float(index.dtype) or dtypes.bits(index.dtype) < 32:
        return cast(index, "int32")
    return index
