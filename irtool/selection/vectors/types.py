"""Vectors: a dtype and a number of lanes."""

from __future__ import annotations

from typing import NamedTuple

from ...tir import dtypes
from ...tir.native_halves import HALF

HALVES = ("float16", "bfloat16")
"""Held as 16 bits, computed with as float, rounded after each operation."""

MEMORY = {"float16": "uint16", "bfloat16": "uint16", "bool": "uint8"}
"""The dtypes that elements are stored as, where it is not their own."""

LANES = (2, 4, 8, 16, 32, 64)

_DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64", "int8", "uint8", "int16", "uint16")


class Scalar(Exception):
    """This loop has no vector form."""


class VectorType(NamedTuple):
    """A vector. A mask is one of signed integers, whose bits are all set where it holds."""

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
    """The type that numbers of `dtype` are computed in. Raises Scalar for dtypes without one."""
    dtype = compute_dtype(dtype)
    if dtype not in _DTYPES:
        raise Scalar
    return VectorType(dtype, lanes)


def held_dtype(dtype: str, native_halves: bool) -> str:
    """The dtype of vectors that hold such numbers: 16-bit floats as float32, unless it is float16 that is computed with natively."""
    return dtype if native_halves and dtype == HALF else compute_dtype(dtype)


def compute_dtype(dtype: str) -> str:
    """The dtype that a number is computed in."""
    return "float32" if dtype in HALVES else dtype


def width_for(count: int) -> int:
    """Lanes of the smallest vector that holds `count` elements; 1 for one element. Raises Scalar for more."""
    if count == 1:
        return 1
    for lanes in LANES:
        if count <= lanes:
            return lanes
    raise Scalar
