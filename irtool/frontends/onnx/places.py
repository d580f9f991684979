"""Places in a model of the expressions that stand for its nodes."""

from __future__ import annotations

from ...diagnostics import Span
from ...ir import Constant, Constructor, Expr, Op, Var, children

_SHARED = (Var, Constant, Op, Constructor)
"""Parts of expressions that nodes share: operators and constructors with all programs."""


def mark_place(e: Expr, place: Span) -> None:
    """Gives the expressions of a node, as far as they are new, their place."""
    stack = [e]
    while stack:
        e = stack.pop()
        if e.span is None and not isinstance(e, _SHARED):
            e.span = place  # type: ignore[misc]  # made just now, and known to nobody else; every node has the slot
            stack.extend(children(e))
