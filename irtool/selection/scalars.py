"""Scalar operations that need more than an operator of the language: a support function, or rounding to 16 bits.

floordiv(a, b)              a support function, unless both are known to be positive: then it is a plain division
float16(x + y)              the sum in float32, rounded
"""

from __future__ import annotations

from ..symbolic_int import proof
from ..tir import dtypes
from ..tir.expr import Binary, Call, Cast, Expr
from ..tir.simplify import Simplifier
from ..tir.word_functions import WORD_FUNCTIONS
from .vectors.lower import WHOLE
from .vectors.types import HALVES, compute_dtype

Support = tuple[str, tuple[str, ...]]
"""A support function: its meaning, and its dtypes."""

_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_SHIFTS = {"<<": "shl", ">>": "shr"}
_ARITHMETIC = ("+", "-", "*", "/")


def support_of(e: Binary | Cast | Call, simplify: Simplifier, is_wide: bool) -> Support | None:
    """The support function of an operation; None for an operator of the language, and for a function of libm.

    Args:
        is_wide: int32 is computed in 64 bits, as an index may be that large.
    """
    if isinstance(e, Binary):
        return _of_binary(e, simplify, is_wide)
    return _of_cast(e) if isinstance(e, Cast) else _of_call(e)


@proof
def _of_binary(e: Binary, simplify: Simplifier, is_wide: bool) -> Support | None:
    op, dtype = e.op, e.a.dtype
    if op in _DIVISIONS and not dtypes.is_float(dtype):
        low, _ = simplify.range(e.a)
        divisor, _ = simplify.range(e.b)
        if divisor > 0 and (low >= 0 or op in ("truncdiv", "truncmod")):
            return None
        return op, ("int64" if is_wide and dtype == "int32" else dtype,)
    if op in _SHIFTS:
        low, high = simplify.range(e.b)
        is_plain = op == ">>" and low >= 0 and high < dtypes.bits(dtype)
        return None if is_plain else (_SHIFTS[op], (dtype,))
    return None


def _of_cast(e: Cast) -> Support | None:
    source, target = e.value.dtype, e.dtype
    if source == "float64" and target in HALVES:  # rounded once, which two conversions do not
        return "odd", (source,)
    return ("to", (compute_dtype(source), target)) if dtypes.is_float(source) and not dtypes.is_float(target) else None


def _of_call(e: Call) -> Support | None:
    name = e.name
    if name in ("popcount", "clz"):
        return name, (e.args[0].dtype,)
    if name in WORD_FUNCTIONS:
        return name, ()
    if name == "pow" and not dtypes.is_float(e.dtype):
        return name, (e.dtype,)
    if name == "flushed_exp":
        return name, ("float32",)
    return (name, (compute_dtype(e.dtype),)) if name == "sigmoid" else None


def is_rounded(e: Expr) -> bool:
    """True for an operation on 16-bit floats whose result, computed in float32, is rounded."""
    if e.dtype not in HALVES:
        return False
    if isinstance(e, Call):
        return e.name not in WHOLE and e.name != "reinterpret"
    return isinstance(e, Cast) or (isinstance(e, Binary) and e.op in _ARITHMETIC)
