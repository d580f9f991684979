"""Arithmetic on float16 that some processors have in 16 bits: with the bits of float32 that is rounded at once.

A sum, difference, product, quotient or square root of float16 numbers that is rounded to float32, and then to float16, is the one that
is rounded once: float32 has more than twice as many digits as float16, and two more (Figueroa, When is double rounding innocuous?,
1995). So what loop nests say of float16 may be computed either way.
"""

from __future__ import annotations

from collections.abc import Iterable

from .expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, children

HALF = "float16"
ARITHMETIC = ("+", "-", "*", "/")
EXTREMES = ("min", "max", "minimum", "maximum")
COMPARISONS = ("<", "<=", "==", "!=")
CALLS = ("sqrt", "fabs")
"""Functions that processors have, or that are a matter of bits."""


def are_native(roots: Iterable[Expr]) -> bool:
    """True if all operations behind some values are in float16 and available in 16 bits on processors: nothing is wider."""
    seen: set[Expr] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            if not _is_native(e):
                return False
            stack.extend(() if isinstance(e, Load) else children(e))
    return True


def _is_native(e: Expr) -> bool:
    if e.dtype == "bool":
        return isinstance(e, Load | Const | Not) or (isinstance(e, Binary) and e.a.dtype in ("bool", HALF))
    if e.dtype != HALF:
        return False
    if isinstance(e, Cast):
        return e.value.dtype == "bool"
    if isinstance(e, Select):
        return not e.lazy
    if isinstance(e, Call):
        return e.name in CALLS
    return isinstance(e, Load | Const) or (isinstance(e, Binary) and e.op in (*ARITHMETIC, *EXTREMES))
