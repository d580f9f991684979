"""Loops that threads share, run by one."""

from __future__ import annotations

from ...tir.stmt import PARALLEL, SERIAL, For, PrimFunc, Stmt, rewrite_stmt


def serialize_loops(f: PrimFunc) -> PrimFunc:
    """The function whose parallel loops are serial."""

    def change(s: Stmt) -> Stmt:
        return For(s.var, s.extent, s.body, SERIAL) if isinstance(s, For) and s.kind == PARALLEL else s

    return f.with_body(rewrite_stmt(f.body, change))
