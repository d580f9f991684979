"""Passes that walk programs as trees refuse shared nodes: each use would become a computation of its own."""

from __future__ import annotations

from collections import Counter

from ..diagnostics import IrError
from ..ir import Expr, Function, children, post_order


def require_tree(f: Function, name: str) -> None:
    """Raises IrError where a node that computes something is used twice (primitive functions are not looked into)."""

    def enter(e: Expr) -> bool:
        return not (isinstance(e, Function) and e.attrs.get("Primitive"))

    uses: Counter[Expr] = Counter()
    for e in post_order(f, enter=enter):
        if enter(e):
            uses.update(children(e))
    for e, count in uses.items():
        if count > 1 and children(e) and enter(e):
            raise IrError(
                f"{name} does not take shared expressions",
                e.span,
                help=f"run ToANormalForm first: --passes=ToANormalForm,{name}",
            )
