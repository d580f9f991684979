"""Passes that walk programs as trees refuse shared nodes: each use would become a computation of its own."""

from __future__ import annotations

from collections import Counter

from ...diagnostics import IrError
from ...ir import Expr, Function, children, post_order
from .primitive_functions import is_primitive


def is_tree(e: Expr) -> bool:
    """True if no node that computes something is used twice."""
    return _shared(e) is None


def require_tree(f: Function, name: str) -> None:
    """Raises IrError if a node that computes something is used twice (primitive functions are not looked into)."""
    shared = _shared(f)
    if shared is not None:
        raise IrError(
            f"{name} does not take shared expressions",
            shared.span,
            help=f"run ToANormalForm first: --passes=ToANormalForm,{name}",
        )


def _shared(root: Expr) -> Expr | None:
    def enter(e: Expr) -> bool:
        return not is_primitive(e)

    use_counts: Counter[Expr] = Counter()
    for e in post_order(root, enter=enter):
        if enter(e):
            use_counts.update(children(e))
    return next((e for e, count in use_counts.items() if count > 1 and children(e) and enter(e)), None)
