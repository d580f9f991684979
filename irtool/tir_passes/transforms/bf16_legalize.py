"""Arithmetic on bfloat16, in float32."""

from __future__ import annotations

from ...tir.expr import Binary, Call, Cast, Expr, Not, Select, children, rebuild, rewrite
from ...tir.stmt import PrimFunc, rewrite_stmt

_HALF, _WIDE = "bfloat16", "float32"


def legalize_bfloat16(f: PrimFunc) -> PrimFunc:
    """The function in which operations on bfloat16 are done in float32, each result rounded to bfloat16."""
    memo: dict[Expr, Expr] = {}

    def wide(e: Expr) -> Expr:
        return Cast(e, _WIDE) if e.dtype == _HALF else e

    def change(e: Expr) -> Expr:
        kids = children(e)
        if not any(k.dtype == _HALF for k in kids) or isinstance(e, Cast | Select | Not):
            return e
        if isinstance(e, Binary):
            expr: Expr = Binary(e.op, wide(e.a), wide(e.b), e.dtype if e.dtype == "bool" else _WIDE)
        elif isinstance(e, Call) and e.name != "reinterpret":
            expr = Call(e.name, tuple(map(wide, kids)), _WIDE if e.dtype == _HALF else e.dtype)
        else:
            return rebuild(e, kids)
        return Cast(expr, _HALF) if e.dtype == _HALF else expr

    return f.with_body(rewrite_stmt(f.body, lambda s: s, lambda e: rewrite(e, change, memo)))
