"""Scalar dtypes: kind, width, range, rounding. Nothing here needs numpy."""

from __future__ import annotations

import math
import re
import struct
from functools import cache

from ..symbolic_int import SymbolicInt, Undecided, interval

HANDLE = "handle"
"""The dtype of handles of values in the region of a run, in memory an int64: see `tir.region`."""


@cache
def parts(dtype: str) -> tuple[str, int]:
    """Kind (`int`, `uint`, `float`, `bfloat`, `bool`, `handle`) and bits: `("float", 32)`."""
    if dtype == "bool":
        return "bool", 1
    if dtype == HANDLE:
        return HANDLE, 64
    match = re.fullmatch(r"(int|uint|float|bfloat)(\d+)", dtype)
    if match is None:
        raise TypeError(f"{dtype} is not a scalar dtype")
    if match[1] == "uint" and match[2] == "1":
        return "bool", 1
    return match[1], int(match[2])


def bits(dtype: str) -> int:
    """Width in bits."""
    return parts(dtype)[1]


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory."""
    return max(1, (bits(dtype) + 7) // 8)


@cache
def is_float(dtype: str) -> bool:
    """True for float16, bfloat16, float32, float64."""
    return parts(dtype)[0] in ("float", "bfloat")


def is_half(dtype: str) -> bool:
    """True for float16 and bfloat16."""
    return dtype in ("float16", "bfloat16")


def accumulator_dtype(dtype: str) -> str:
    """The dtype of accumulators for sums and products: float32 for 16-bit floats, as in numpy."""
    return "float32" if is_half(dtype) else dtype


@cache
def is_int(dtype: str) -> bool:
    """True for signed and unsigned integers (not for bool)."""
    return parts(dtype)[0] in ("int", "uint")


def is_unsigned(dtype: str) -> bool:
    """True for unsigned integers."""
    return parts(dtype)[0] == "uint"


@cache
def int_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype (0 and 1 of bool)."""
    kind, width = parts(dtype)
    if kind == "bool":
        return 0, 1
    if kind == "uint":
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


_FLOAT_MAX = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def largest(dtype: str) -> int | float:
    """The largest finite value."""
    return _FLOAT_MAX[dtype] if is_float(dtype) else int_range(dtype)[1]


def lowest(dtype: str) -> int | float:
    """The smallest finite value (not the smallest magnitude)."""
    return -_FLOAT_MAX[dtype] if is_float(dtype) else int_range(dtype)[0]


def _round_symbolic(value: SymbolicInt, kind: str, width: int) -> int:
    """The extent itself, which its dtype must hold for all lengths: integers to 2^53 are floats without rounding, of float32 to 2^24."""
    low, high = interval(value)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(f"{kind}{width}")
    most = (1 << digits) if digits else (1 << width - (kind == "int")) - 1
    if (
        kind not in ("int", "uint", "float", "bfloat")
        or high > most
        or low < (0 if kind == "uint" else -most - (not digits))
    ):
        raise Undecided(f"{value} does not fit {kind}{width} for all lengths")
    return value


def round_to(value: float | int, dtype: str) -> float | int:
    """`value` as the dtype holds it: floats rounded to nearest even, integers wrapped.

    A float for an integer is cut as generated code casts one: to int32 (int64 for 64-bit and unsigned results), the least
    value of that where it does not fit or is NaN; uint64 holds what fits it.
    """
    kind, width = parts(dtype)
    if isinstance(value, SymbolicInt):
        return _round_symbolic(value, kind, width)
    if kind == "bool":
        return int(bool(value))
    if kind in ("int", "uint"):
        wrapped = (_cut(value, kind, width) if isinstance(value, float) else int(value)) & ((1 << width) - 1)
        return wrapped - (1 << width) if kind == "int" and wrapped >> (width - 1) else wrapped
    value = float(value)
    if math.isnan(value) or math.isinf(value) or dtype == "float64":
        return value
    if kind == "bfloat":
        return _round_bfloat(value)
    try:
        code = "<f" if width == 32 else "<e"
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _cut(value: float, kind: str, width: int) -> int:
    limit = 1 << (63 if width > 32 or kind == "uint" else 31)
    if -limit <= value < limit or (kind == "uint" and width == 64 and limit <= value < 2 * limit):
        return int(value)
    return -limit


def _round_bfloat(value: float) -> float:
    try:
        word = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    word = (word + 0x7FFF + ((word >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", word))[0]


_RANK = {"bool": 0, "uint": 1, "int": 1, "bfloat": 2, "float": 2}


@cache
def join(a: str, b: str) -> str:
    """The dtype in which an operation on `a` and `b` is done: floats win over integers, wide over narrow."""
    if a == b:
        return a
    (ka, wa), (kb, wb) = parts(a), parts(b)
    if _RANK[ka] != _RANK[kb]:
        return a if _RANK[ka] > _RANK[kb] else b
    if wa != wb:
        return a if wa > wb else b
    return a if ka in ("int", "float") else b
