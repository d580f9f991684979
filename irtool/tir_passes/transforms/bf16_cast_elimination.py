"""Results of bfloat16 arithmetic that are not rounded where they are computed with again."""

from __future__ import annotations

from ...tir.expr import Cast, Expr, rewrite
from ...tir.stmt import PrimFunc, rewrite_stmt


def eliminate_bfloat16_casts(f: PrimFunc) -> PrimFunc:
    """The function in which float32 numbers that are cast to bfloat16 and back at once stay as they are."""
    memo: dict[Expr, Expr] = {}

    def change(e: Expr) -> Expr:
        if isinstance(e, Cast) and e.dtype == "float32" and isinstance(e.value, Cast):
            inner = e.value
            if inner.dtype == "bfloat16" and inner.value.dtype == "float32":
                return inner.value
        return e

    return f.with_body(rewrite_stmt(f.body, lambda s: s, lambda e: rewrite(e, change, memo)))
