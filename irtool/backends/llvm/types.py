"""Dtypes as LLVM types."""

from __future__ import annotations

from ...diagnostics import IrError
from ...selection.vectors.types import HALVES
from ...symbolic_int import SymbolicInt
from ...tir import dtypes
from ...tir.native_halves import HALF
from .builder import float_bits


def value_type(dtype: str) -> str:
    """The type in which values of the dtype are computed; bools are `i1`."""
    if dtype in HALVES or dtype == "float32":
        return "float"
    if dtype == "float64":
        return "double"
    kind, width = dtypes.parts(dtype)
    if kind == dtypes.HANDLE:
        return "i64"
    if kind == "bool" and width == 1:
        return "i1"
    if kind in ("int", "uint") and width in (8, 16, 32, 64):
        return f"i{width}"
    raise IrError(f"tensors of {dtype} cannot be compiled to LLVM IR")


def stored_type(dtype: str) -> str:
    """The type of an element in memory."""
    return "i16" if dtype in HALVES else "i8" if value_type(dtype) == "i1" else value_type(dtype)


def lane_type(dtype: str) -> str:
    """The type of a lane: vectors of float16 are computed in 16 bits, others of 16-bit floats in float32."""
    return "half" if dtype == HALF else value_type(dtype)


def vector_type(dtype: str, lanes: int) -> str:
    """`<16 x float>`."""
    return f"<{lanes} x {lane_type(dtype)}>"


def literal(value: int | float, dtype: str) -> str:
    """A constant of the value type. Lengths have no constants."""
    assert not isinstance(value, SymbolicInt)
    if dtypes.is_float(dtype):
        return float_bits(float(value), dtype != "float64")
    if dtypes.parts(dtype)[0] == "bool":
        return "true" if value else "false"
    return str(int(value))
