"""Loops written out, or marked to be."""

from __future__ import annotations

from ...tir.expr import Const
from ...tir.renaming import fresh_copy
from ...tir.sharing import loop_bounds
from ...tir.stmt import SERIAL, UNROLLED, For, PrimFunc, Seq, Stmt, Store, children, rewrite_stmt, seq
from .simplify import Ranges, simplify_statement


def unroll_loops(
    f: PrimFunc, auto_max_step: int = 0, auto_max_depth: int = 8, auto_max_extent: int = 0, explicit_unroll: bool = True
) -> PrimFunc:
    """The function whose unrolled loops are written out, step by step.

    So are serial loops of at most `auto_max_extent` steps, and those of at most `auto_max_step` statements in all, in which no
    loop stays and at most `auto_max_depth - 1` have been written out. Unless `explicit_unroll`, loops are marked, not written out.
    """
    bounds: Ranges = dict(loop_bounds(f))
    facts: dict[Stmt, tuple[int, int, int]] = {}
    """Statements that are run, loops that stay, and the depth of those that are written out, by statement."""

    def noted(s: Stmt) -> tuple[int, int, int]:
        steps, loops, depth = 0, 0, 0
        for k in children(s):
            a, b, c = facts[k]
            steps, loops, depth = steps + a, max(loops, b), max(depth, c)
        facts[s] = (steps + isinstance(s, Store), loops, depth)
        return facts[s]

    def change(s: Stmt) -> Stmt:
        steps, loops, depth = noted(s)
        if not isinstance(s, For):
            return s
        extent = int(s.extent.value) if isinstance(s.extent, Const) else -1
        chosen = s.kind == UNROLLED
        if s.kind == SERIAL and extent >= 0:
            small = steps * extent <= auto_max_step and not loops and depth < auto_max_depth
            chosen = small or (extent <= auto_max_extent and not loops)
        if not chosen or extent < 0:
            facts[s] = (max(extent, 1) * steps, loops + 1, depth)
            return s
        if not explicit_unroll:
            stmt: Stmt = s if s.kind == UNROLLED else For(s.var, s.extent, s.body, UNROLLED)
        else:
            copies = (fresh_copy(s.body, {s.var: Const(n, s.var.dtype)}) for n in range(extent))
            stmt = seq([simplify_statement(x, bounds) for x in copies])
        for x in stmt.stmts if isinstance(stmt, Seq) else ():
            facts[x] = (steps, loops, depth + 1)
        facts[stmt] = (steps * extent, loops, depth + 1)
        return stmt

    return f.with_body(rewrite_stmt(f.body, change))
