"""Conditions that are the same in every step of a loop, asked before it."""

from __future__ import annotations

from ...tir.expr import Expr, Load, Var, post_order
from ...tir.renaming import fresh_copy
from ...tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Stmt, Store, pre_order, rewrite_stmt


def hoist_conditions(f: PrimFunc) -> PrimFunc:
    """The function in which a branch that is all that a loop does stands around the loop, as far out as it can.

    A condition moves out of a loop if nothing in it changes there: not its variables, and not the elements that it reads.
    """

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or not isinstance(s.body, If) or _changes(s, s.body.cond):
            return s
        inner = s.body
        then = For(s.var, s.extent, inner.then, s.kind)
        if inner.other is None:
            return If(inner.cond, then)
        v = Var(s.var.name, s.var.dtype)
        return If(inner.cond, then, For(v, s.extent, fresh_copy(inner.other, {s.var: v}), s.kind))

    return f.with_body(rewrite_stmt(f.body, change))


def _changes(loop: For, cond: Expr) -> bool:
    inside = list(pre_order(loop))
    bound: set[Expr] = {s.var for s in inside if isinstance(s, For | Let)}
    written: set[Buffer] = {s.buffer for s in inside if isinstance(s, Store | Allocate)}
    return any(e in bound or (isinstance(e, Load) and e.source in written) for e in post_order(cond))
