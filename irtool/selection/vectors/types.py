"""Vectors: a dtype and a number of lanes."""

from __future__ import annotations

from typing import NamedTuple

from ...tir import dtypes
from ...tir.native_halves import HALF

HALVES = ("float16", "bfloat16")
"""Dtypes that are stored in 16 bits, computed as float, and rounded after each operation."""

MEMORY = {"float16": "uint16", "bfloat16": "uint16", "bool": "uint8"}
"""The stored dtypes of elements, if different."""

LANES = (2, 4, 8, 16, 32, 64)

_DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "int8", "uint8", "int16", "uint16")


class Scalar(Exception):
    """This loop has no vector form."""


class VectorType(NamedTuple):
    """A vector. A mask is a vector of signed integers, with all bits set in lanes for which the condition holds."""

    dtype: str
    lanes: int

    @property
    def bits(self) -> int:
        """Bits of a lane."""
        return dtypes.bits(self.dtype)

    @property
    def mask(self) -> VectorType:
        """The result of a comparison of such vectors."""
        return VectorType(f"int{self.bits}", self.lanes)


def vector(dtype: str, lanes: int) -> VectorType:
    """The vector type in which numbers of `dtype` are computed. Raises Scalar for dtypes without one."""
    dtype = compute_dtype(dtype)
    if dtype not in _DTYPES:
        raise Scalar
    return VectorType(dtype, lanes)


def held_dtype(dtype: str, native_halves: bool) -> str:
    """The dtype of vectors of such numbers: float32 for 16-bit floats, except float16 with native arithmetic."""
    return dtype if native_halves and dtype == HALF else compute_dtype(dtype)


def compute_dtype(dtype: str) -> str:
    """The dtype in which a number is computed."""
    return "float32" if dtype in HALVES else dtype


def width_for(count: int) -> int:
    """Lanes of the smallest vector that holds `count` elements; 1 for one element. Raises Scalar for more."""
    if count == 1:
        return 1
    for lanes in LANES:
        if count <= lanes:
            return lanes
    raise Scalar
