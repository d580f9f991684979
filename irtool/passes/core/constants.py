"""Constants as passes make and read them.

numpy has no bfloat16, so a `Constant` of that type holds the upper 16 bits of float32 in an array of uint16; everything
here hides that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant, Expr, MissingData, Var
from ...ops.base import is_call_to
from ...ops.dtypes import has_arrays
from ...tir.elements import numbers


def scalar_constant(value: float, dtype: str) -> Constant:
    """A constant of rank 0."""
    return array_constant(np.asarray(value), dtype)


def tensor_constant(values: Sequence[Any], dtype: str) -> Constant:
    """A constant holding these (nested) values."""
    return array_constant(np.asarray(values), dtype)


def array_constant(values: np.ndarray, dtype: str) -> Constant:
    """A constant of the elements of `values` converted to `dtype`. Raises IrError for one that constants cannot hold."""
    if not has_arrays(dtype):
        raise IrError(f"there are no constants of {dtype}: numpy has no such element type")
    if dtype == "bfloat16":
        return Constant(to_bfloat16(values.astype("float32")), dtype)
    with np.errstate(over="ignore"):  # numbers above the largest of the dtype are infinite
        return Constant(values.astype(dtype), dtype)


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 rounded to nearest even bfloat16, as uint16 bits."""
    bits = np.ascontiguousarray(values, "float32").view("uint32")
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")
    quiet = ((bits >> 16) | 0x40).astype("uint16")
    return np.where(np.isnan(values), quiet, rounded).astype("uint16").reshape(values.shape)


def to_array(constant: Constant) -> np.ndarray:
    """The elements as numpy computes with them (float32 for bfloat16)."""
    data = constant.data
    assert not isinstance(data, MissingData)
    if constant.dtype == "bfloat16" and data.dtype == np.uint16:
        return numbers(data, constant.dtype)
    return data


def has_data(e: Expr) -> bool:
    """True for a constant whose values are known."""
    return isinstance(e, Constant) and not isinstance(e.data, MissingData)


def single_value(e: Expr) -> float | int | None:
    """The value of a constant of one element, of any rank; None for other expressions."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData) or e.data.size != 1:
        return None
    return to_array(e).reshape(()).item()


def same_scalar(a: Expr, b: Expr) -> bool:
    """True if both are constants of rank 0 with the same type and the same bits (a NaN equals itself)."""
    if not (isinstance(a, Constant) and isinstance(b, Constant) and a.is_scalar and b.is_scalar):
        return False
    return a.dtype == b.dtype and a.data.tobytes() == b.data.tobytes()  # type: ignore[union-attr]  # the data of the constant is there


def may_divide(e: Expr) -> bool:
    """True if a division by `e` gives finite numbers, as far as is known: for a constant whose reciprocals are finite, and for a variable.

    What a program computes, such as the scales of a squeeze-and-excitation block, may be zero.
    """
    e = _under_reshapes(e)
    if not isinstance(e, Constant):
        return isinstance(e, Var)
    if not has_data(e):
        return False
    data = to_array(e)
    if data.dtype.kind != "f":
        return bool((data != 0).all())
    with np.errstate(all="ignore"):
        return bool(np.isfinite(1 / data).all())


def _under_reshapes(e: Expr) -> Expr:
    while is_call_to(e, "expand_dims", "reshape", "transpose", "squeeze"):
        e = e.args[0]
    return e


def never_negative(e: Expr) -> bool:
    """True if `e` is a constant with no element below zero, possibly under reshapes, squeezes, and transposes.

    Answers no for the types that TVM does not look into (float16, bfloat16, 16 and 64-bit integers).
    """
    e = _under_reshapes(e)
    if not isinstance(e, Constant) or isinstance(e.data, MissingData):
        return False
    if e.dtype not in ("float32", "float64", "int8", "int32", "uint8", "uint32"):
        return False
    return not bool((e.data < 0).any())
