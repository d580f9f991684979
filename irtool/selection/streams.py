"""Fences behind stores past the caches, which order them for other threads.

for y: copy a block, past the caches      ⇒      for y: copy a block, past the caches; fence
"""

from __future__ import annotations

from ..schedule.graph.threads import shared_loops
from ..tir.stmt import PARALLEL, For, Lowered, Seq, Stmt, children, pre_order, rewrite_stmt, seq
from .vectors import ir


class Fence:
    """A fence behind stores past the caches."""


def fence_streams(root: Stmt) -> Stmt:
    """The lowered nest with a fence at the end of each step of an outermost loop with such stores; for fused parallel loops, of
    the innermost."""
    ends: set[Stmt] = set()
    stack = [root]
    while stack:
        s = stack.pop()
        if not isinstance(s, For | Lowered):
            stack.extend(children(s))
        elif any(map(_streams, pre_order(s))):
            ends.add(shared_loops(s)[-1] if isinstance(s, For) and s.kind == PARALLEL else s)

    def change(s: Stmt) -> Stmt:
        if s not in ends:
            return s
        fence = Lowered(Seq(()), Fence())
        if isinstance(s, For):
            return For(s.var, s.extent, seq([s.body, fence]), s.kind, s.unroll)
        return seq([s, fence])

    return rewrite_stmt(root, change) if ends else root


def _streams(s: Stmt) -> bool:
    return isinstance(s, Lowered) and isinstance(s.code, ir.CopySquare) and s.code.streams
