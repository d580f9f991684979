"""Copies of statements with variables and buffers of their own: each copy binds its own."""

from __future__ import annotations

from collections.abc import Mapping

from .expr import Expr, Load, Var, rewrite
from .stmt import Allocate, Annotate, Buffer, For, Let, Stmt, Store, pre_order, rewrite_stmt


def fresh_copy(root: Stmt, values: Mapping[Var, Expr] | None = None) -> Stmt:
    """A copy with new variables for all bindings of the statements, in which the variables in `values` are replaced."""
    memo: dict[Expr, Expr] = {}
    memo.update((values or {}).items())
    variables: dict[Var, Var] = {}
    buffers: dict[Buffer, Buffer] = {}
    for s in pre_order(root):
        if isinstance(s, For | Let):
            variables[s.var] = memo[s.var] = Var(s.var.name, s.var.dtype)
        elif isinstance(s, Allocate):
            b = s.buffer
            buffers[b] = b.replace()

    def change_expr(e: Expr) -> Expr:
        return Load(buffers[e.source], e.indices) if isinstance(e, Load) and e.source in buffers else e

    def change(s: Stmt) -> Stmt:
        if isinstance(s, For):
            return For(variables[s.var], s.extent, s.body, s.kind)
        if isinstance(s, Let):
            return Let(variables[s.var], s.value, s.body)
        if isinstance(s, Allocate):
            return Allocate(buffers[s.buffer], s.body)
        if isinstance(s, Annotate) and s.buffer in buffers:
            return Annotate(buffers[s.buffer], s.key, s.value, s.body)
        if isinstance(s, Store) and s.buffer in buffers:
            return Store(buffers[s.buffer], s.indices, s.value)
        return s

    return rewrite_stmt(root, change, lambda e: rewrite(e, change_expr, memo))
