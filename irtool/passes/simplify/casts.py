"""Casts that do nothing, and casts of casts."""

from __future__ import annotations

import re

from ...ir import Expr, TensorType
from ...ops.base import call
from ..dataflow import PatternMatch, RewriteRule, is_op, wildcard


def same_cast() -> RewriteRule:
    """`cast(x: float32, dtype="float32") ⇒ x`."""
    data, like = wildcard(), wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        source, target = match.type_of(data), before.checked_type
        assert isinstance(source, TensorType) and isinstance(target, TensorType)
        return match[data] if source.dtype == target.dtype else after

    return RewriteRule(is_op("cast_like")(data, like) | is_op("cast")(data), replace)


def consecutive_casts() -> RewriteRule:
    """`cast(cast(x, dtype="float64"), dtype="int32") ⇒ cast(x, dtype="int32")`, where the first cast loses nothing."""
    data = wildcard()
    first = is_op("cast_like")(data, wildcard()) | is_op("cast")(data)

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        source, middle, target = match.type_of(data), match.type_of(first), before.checked_type
        assert isinstance(source, TensorType) and isinstance(middle, TensorType) and isinstance(target, TensorType)
        if not widens(source.dtype, middle.dtype):
            return after
        return call("cast", match[data], dtype=target.dtype)

    return RewriteRule(is_op("cast_like")(first, wildcard()) | is_op("cast")(first), replace)


_KINDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}


def kind_and_bits(dtype: str) -> tuple[int, int]:
    """The kind of number, in ascending order of range, and its bits; `bool` is an unsigned number of one bit."""
    if dtype == "bool":
        return _KINDS["uint"], 1
    match = re.match(r"([a-z]+)(\d+)", dtype)
    if match is None:
        return _KINDS["handle"], 64
    return _KINDS.get(match[1], 5), int(match[2])


def widens(source: str, target: str) -> bool:
    """Whether a cast is taken to keep every value: to more bits of the same kind, or from integers to floats.

    TVM takes casts from signed to unsigned numbers for such, too, which changes the values of `cast(cast(x, "uint8"), "int32")`.
    """
    (kind, bits), (other_kind, other_bits) = kind_and_bits(source), kind_and_bits(target)
    if (kind, other_kind) == (_KINDS["int"], _KINDS["uint"]):
        return False
    if kind == other_kind:
        return bits <= other_bits
    if _KINDS["bfloat"] in (kind, other_kind):
        return False
    return kind < other_kind
