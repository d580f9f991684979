"""Gradients of step functions: zero."""

from __future__ import annotations

from ...ir import Expr
from .rule import GradientSite, flat, gradient


@gradient("sign", "round", "floor", "ceil", "trunc", "floor_divide", "trunc_divide")
def steps(s: GradientSite) -> list[Expr]:
    """0 between the steps, and by convention at them."""
    return flat(s)
