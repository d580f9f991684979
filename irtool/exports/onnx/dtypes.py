"""Dtypes of Relay as ONNX's element types."""

from __future__ import annotations

import re

ELEMENT_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
"""`TensorProto.DataType` of onnx.proto, as far as Relay has the dtype."""


def is_float(dtype: str) -> bool:
    """True for floating point of any width."""
    return "float" in dtype


def is_integer(dtype: str) -> bool:
    """True for integers, bool not among them."""
    return dtype.startswith(("int", "uint"))


def is_unsigned(dtype: str) -> bool:
    """True for integers without sign."""
    return dtype.startswith("uint")


def bits_of(dtype: str) -> int:
    """The width of an element in bits; bool counts as 8."""
    match = re.search(r"\d+$", dtype)
    return int(match[0]) if match else 8
