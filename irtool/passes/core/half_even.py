"""Rounding of float32 numbers to whole ones, a half to the even one, in operators that Relay has."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from .arithmetic import add, subtract
from .constants import scalar_constant

ROUNDING = 1.5 * 2**23
"""The unit in the last place of float32 numbers around it is 1: added to it, a number of at most 2^22 is rounded to a whole one."""

_WHOLE = 2.0**22


def round_half_even(e: Expr) -> Expr:
    """The whole numbers nearest to those of a float32 tensor.

    Numbers above 2^22 have halves at most: of these, twice as much is rounded as an even number of halves. Zeros may lose their sign.
    """
    large = scalar_constant(ROUNDING, "float32")
    small = call("less", call("abs", e), scalar_constant(_WHOLE, "float32"))
    half = call("multiply", e, scalar_constant(0.5, "float32"))
    even = call("multiply", call("round", half), scalar_constant(2.0, "float32"))
    is_half = call("equal", call("abs", subtract(e, call("trunc", e))), scalar_constant(0.5, "float32"))
    return call("where", small, subtract(add(e, large), large), call("where", is_half, even, e))
