"""Clips that do nothing, and casts behind clips that hold every clipped value: exact, since they are of integers alone."""

from __future__ import annotations

import math

from ...ir import Call, Expr, TensorType
from ...ops.base import call, is_call_to
from ...ops.dtypes import is_integer
from ..dataflow import PatternMatch, RewriteRule, is_op, wildcard
from .casts import kind_and_bits, whole_numbers

_KEPT = ("qnn.requantize", "qnn.add")
"""After these operators a clip is part of the patterns of libraries."""
_LEAST_CUT = 2**31
"""Floats below this are cut to any integer dtype without being out of range before they wrap."""


def idle_clips() -> RewriteRule:
    """`clip(x, a_min=0f, a_max=255f) ⇒ x`, where x is of an integer dtype of at most 32 bits without values beyond."""
    x = wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t = before.checked_type
        assert isinstance(after, Call) and isinstance(t, TensorType)
        if not is_integer(t.dtype) or kind_and_bits(t.dtype)[1] > 32:
            return after
        if any(is_call_to(after.args[0], name) for name in _KEPT):
            return after
        low, high = whole_numbers(t.dtype)
        return match[x] if after.attrs.a_min <= low and high <= after.attrs.a_max else after

    return RewriteRule(is_op("clip")(x), replace)


def casts_of_clips() -> RewriteRule:
    """`cast(cast(clip(x: int32, a_min=0f, a_max=255f), dtype="uint8"), dtype="int32") ⇒ clip(x, …)`.

    The first cast goes where its dtype holds every whole number between the bounds; the second where it leads back.
    """
    clip = is_op("clip")(wildcard())
    first = is_op("cast")(clip)

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        source, middle, target = match.type_of(clip), match.type_of(first), before.checked_type
        assert isinstance(source, TensorType) and isinstance(middle, TensorType) and isinstance(target, TensorType)
        clipped = match[clip]
        assert isinstance(clipped, Call)
        if not is_integer(source.dtype) or not _holds(middle.dtype, clipped.attrs.a_min, clipped.attrs.a_max):
            return after
        return clipped if source.dtype == target.dtype else call("cast", clipped, dtype=target.dtype)

    return RewriteRule(is_op("cast")(first), replace)


def _holds(dtype: str, least: float, most: float) -> bool:
    """True if a dtype has every whole number between two bounds, and casts of these from it wrap as those of integers."""
    if not (math.isfinite(least) and math.isfinite(most)):
        return False
    low, high = whole_numbers(dtype)
    if not is_integer(dtype):
        low, high = max(low, -_LEAST_CUT), min(high, _LEAST_CUT - 1)
    return low <= math.floor(min(least, most)) and math.ceil(max(least, most)) <= high
