"""Names of element types, and the numpy types that hold them.

A dtype is a string everywhere in the IR (`"float32"`, `"bool"`, `"bfloat16"`); `ir.dtypes` says which there are, and which
numpy type holds each.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from ..deferred import np
from ..diagnostics import IrError
from ..ir import Expr, TensorType
from ..ir.dtypes import numpy_dtype as numpy_dtype


def dtype_of(e: Expr) -> str:
    """The element type of a tensor; empty for anything else, and where the type is not known."""
    return e.checked_type.dtype if isinstance(e.checked_type, TensorType) else ""


def has_arrays(name: str) -> bool:
    """True if constants can hold the dtype: numpy has it, or its bits."""
    return name in ("bool", "bfloat16") or re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)", name) is not None


def is_float(name: str) -> bool:
    """True for `float16`, `bfloat16`, …"""
    return name.startswith(("float", "bfloat", "custom"))


def is_integer(name: str) -> bool:
    """True for signed and unsigned integers, not for bool."""
    return name.startswith(("int", "uint"))


def is_signed(name: str) -> bool:
    """True for signed integers."""
    return name.startswith("int")


def bits(name: str) -> int:
    """Width of one element: 32 for `float32`, 1 for `bool`, 0 for the void type."""
    if name == "bool":
        return 1
    digits = re.match(r"[a-z]+(\d+)", name)
    return int(digits.group(1)) if digits else 0


def needs_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of tensor expressions, refusing floats: TVM's type rules accept them, and nothing computes them."""

    @functools.wraps(function)
    def checked(*operands: Any) -> Any:
        wrong = next((str(x.dtype) for x in operands if is_float(str(x.dtype))), None)
        if wrong is not None:
            raise IrError(f"it has no meaning on {wrong}")
        return function(*operands)

    return checked


def is_half(dtype: np.dtype) -> bool:
    """True for the 16-bit floating-point types, whose sums are accumulated in float32."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def is_real(dtype: np.dtype) -> bool:
    """True for floating-point numpy types, bfloat16 (which numpy calls a void type) among them."""
    return dtype.kind not in "iub"


def smallest(dtype: np.dtype) -> float | int:
    """The value that no value of the type is below: `-inf`'s finite stand-in, an integer's minimum, False."""
    if dtype.kind == "b":
        return 0
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return float("-inf")


def largest(dtype: np.dtype) -> float | int:
    """The value that no value of the type is above."""
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max)
    return float("inf")
