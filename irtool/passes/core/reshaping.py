"""Reshaping to a shape that is known."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Dim, Expr
from ...ops.base import call


def reshape_to(e: Expr, shape: Sequence[Dim]) -> Expr:
    """`e` in exactly this shape: an extent of 0 means 0, and not the code for an extent of the operand."""
    if 0 in shape:
        return call("reshape", e, newshape=tuple(shape), allowzero=True)
    return call("reshape", e, newshape=tuple(shape))
