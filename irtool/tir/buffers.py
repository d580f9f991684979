"""Statements over other buffers."""

from __future__ import annotations

from collections.abc import Mapping

from .expr import Expr, Load, rewrite
from .stmt import Allocate, Annotate, Buffer, Stmt, Store, rewrite_stmt


def replace_buffers(root: Stmt, replaced: Mapping[Buffer, Buffer]) -> Stmt:
    """The statement with some buffers replaced where they are read, stored to, allocated and annotated; itself if none is to be."""
    if not replaced:
        return root
    memo: dict[Expr, Expr] = {}

    def read(e: Expr) -> Expr:
        return Load(replaced[e.source], e.indices) if isinstance(e, Load) and e.source in replaced else e

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Store) and s.buffer in replaced:
            return Store(replaced[s.buffer], s.indices, s.value)
        if isinstance(s, Allocate) and s.buffer in replaced:
            return Allocate(replaced[s.buffer], s.body)
        if isinstance(s, Annotate) and s.buffer in replaced:
            return Annotate(replaced[s.buffer], s.key, s.value, s.body)
        return s

    return rewrite_stmt(root, change, lambda e: rewrite(e, read, memo))
