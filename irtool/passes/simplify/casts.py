"""Casts that do nothing, and casts of casts: exact on every value of every dtype."""

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
        if not loses_nothing(source.dtype, middle.dtype, target.dtype):
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


_MANTISSAS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Bits of whole numbers that a float dtype holds exactly, the leading one included."""
_EXACT_FLOATS = {
    ("bfloat16", "float32"),
    ("bfloat16", "float64"),
    ("float16", "float32"),
    ("float16", "float64"),
    ("float32", "float64"),
}


def widens(source: str, target: str) -> bool:
    """True if a cast keeps every value: NaN, infinities, the sign of zero and the largest numbers among them.

    TVM takes all casts from integers to floats for such, and those from signed to unsigned numbers.
    """
    if source == target:
        return True
    number_kinds = kind_and_bits(source)[0], kind_and_bits(target)[0]
    if target in _MANTISSAS:
        return (source, target) in _EXACT_FLOATS or (
            number_kinds[0] in (_KINDS["int"], _KINDS["uint"]) and _magnitude(source) <= _MANTISSAS[target]
        )
    if source in _MANTISSAS or target == "bool" or not set(number_kinds) <= {_KINDS["int"], _KINDS["uint"]}:
        return False
    if number_kinds == (_KINDS["int"], _KINDS["uint"]):
        return False
    return _magnitude(source) <= _magnitude(target)


def loses_nothing(source: str, middle: str, target: str) -> bool:
    """True if a cast by way of `middle` gives the same result as one cast from `source` to `target`.

    Floats are cut to int32 (int64 for wide and unsigned results) before they wrap, integers only wrap: what is beyond must not
    occur.
    """
    if not widens(source, middle):
        return False
    if source in _MANTISSAS or middle not in _MANTISSAS or target in _MANTISSAS or target == "bool":
        return True
    kind, bits = kind_and_bits(target)
    return _magnitude(source) <= (63 if bits > 32 or kind == _KINDS["uint"] else 31)


def whole_numbers(dtype: str) -> tuple[int, int]:
    """The least and the largest number of those between which a dtype holds each whole one; (0, 0) of a dtype of other things."""
    kind, bits = kind_and_bits(dtype)
    if dtype in _MANTISSAS:
        return -(2 ** _MANTISSAS[dtype]), 2 ** _MANTISSAS[dtype]
    if kind == _KINDS["int"]:
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return (0, 2**bits - 1) if kind == _KINDS["uint"] else (0, 0)


def _magnitude(dtype: str) -> int:
    """Bits of the largest number of an integer dtype: 7 of int8, 8 of uint8."""
    kind, bits = kind_and_bits(dtype)
    return bits - 1 if kind == _KINDS["int"] else bits
