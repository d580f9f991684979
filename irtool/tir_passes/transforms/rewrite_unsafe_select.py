"""Choices of which one side may not be evaluated."""

from __future__ import annotations

from ...tir.expr import Expr, Load, Select, post_order, rewrite
from ...tir.stmt import PrimFunc, rewrite_stmt


def guard_selects(f: PrimFunc) -> PrimFunc:
    """The function in which a `select` that reads memory evaluates the side only that it takes."""
    memo: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        if isinstance(e, Select) and not e.lazy and any(isinstance(x, Load) for x in post_order(e.then, e.other)):
            return Select(e.cond, e.then, e.other, True)
        return e

    return f.with_body(rewrite_stmt(f.body, lambda s: s, lambda e: rewrite(e, change, memo)))
