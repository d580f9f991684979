"""Dtypes as C: the types of stored elements and of values, and literals."""

from __future__ import annotations

import math
import struct

from ..diagnostics import IrError
from ..selection.vectors.types import HALVES
from ..symbolic_int import SymbolicInt
from ..tir import dtypes

_STORED = {"bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double"}
_STORED[dtypes.HANDLE] = "int64_t"
_INTS = tuple(f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64))


def stored_type(dtype: str) -> str:
    """The C type of an element in memory. Raises IrError for a dtype that C does not have."""
    if dtype in _STORED:
        return _STORED[dtype]
    if dtype in _INTS:
        return f"{dtype}_t"
    if dtypes.parts(dtype) == ("bool", 1):
        return "uint8_t"
    raise IrError(f"tensors of {dtype} cannot be compiled to C")


def value_type(dtype: str) -> str:
    """The C type in which values of the dtype are computed."""
    return "float" if dtype in HALVES else "int" if dtype == "bool" else stored_type(dtype)


class Enclosed(str):
    """A C expression in parentheses; `inside` is the expression without them."""

    inside: str


def enclose(inside: str) -> Enclosed:
    """The expression in parentheses."""
    enclosed = Enclosed(f"({inside})")
    enclosed.inside = inside
    return enclosed


def bare(text: str) -> str:
    """The expression without its outer parentheses, if they are not needed."""
    return text.inside if isinstance(text, Enclosed) else text


def byte_count(size: int) -> str:
    """A number of bytes, a formula or a number, as a `size_t`."""
    return f"(size_t){enclose(str(size))}" if isinstance(size, SymbolicInt) else f"{size}u"


def literal(value: int | float, dtype: str) -> str:
    """A constant of the value type, or the formula of an extent."""
    if isinstance(value, SymbolicInt):
        return enclose(str(value)) if not dtypes.is_float(dtype) else f"({value_type(dtype)}){enclose(str(value))}"
    if dtypes.is_float(dtype):
        value = float(value)
        suffix = "" if dtype == "float64" else "f"
        if math.isnan(value):
            return "NAN" if dtype != "float64" else enclose("(double)NAN")
        if math.isinf(value):
            text = "INFINITY" if value > 0 else enclose("-INFINITY")
            return text if dtype != "float64" else enclose(f"(double){text}")
        text = repr(value) if dtype == "float64" else _shortest(value)
        if "." not in text and "e" not in text:
            text += ".0"
        return enclose(f"{text}{suffix}") if math.copysign(1, value) < 0 else f"{text}{suffix}"
    if isinstance(value, SymbolicInt):
        return enclose(str(value))
    value = int(value)
    kind, width = dtypes.parts(dtype)
    if kind == "bool":
        return str(value)
    if kind == "uint":
        return f"UINT64_C({value})" if width == 64 else f"{value}u"
    if width == 64:
        return (
            "INT64_MIN"
            if value == -(1 << 63)
            else f"INT64_C({value})"
            if value >= 0
            else enclose(f"-INT64_C({-value})")
        )
    if value == -(1 << 31):
        return "INT32_MIN"
    return str(value) if value >= 0 else enclose(str(value))


def half_bits(value: int | float) -> int:
    """The bits of a number as float16."""
    if math.isnan(value):
        return 0x7E00
    return int.from_bytes(struct.pack("<e", value), "little")


def _shortest(value: float) -> str:
    """Fewest digits that read back to the same single-precision value."""
    for digits in (6, 7, 8, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
                return text
        except OverflowError:
            continue
    return f"{value:.9g}"
