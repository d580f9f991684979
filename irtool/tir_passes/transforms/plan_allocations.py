"""Allocations right around their uses."""

from __future__ import annotations

from ...tir.expr import Load, post_order
from ...tir.stmt import (
    Allocate,
    Annotate,
    Buffer,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    expressions,
    pre_order,
    rewrite_stmt,
    seq,
)


def sink_allocations(f: PrimFunc) -> PrimFunc:
    """The function whose buffers are allocated around the statements that use them, not earlier.

    An allocation moves past the statements of its block that come before the first and behind the last use. It does not move
    into loops, whose steps may hand values on.
    """

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, Allocate):
            return s
        if isinstance(s.body, Allocate):
            inner = s.body
            moved = change(Allocate(s.buffer, inner.body))
            return s if isinstance(moved, Allocate) and moved.body is inner.body else Allocate(inner.buffer, moved)
        if not isinstance(s.body, Seq):
            return s
        parts = s.body.stmts
        used = [n for n, part in enumerate(parts) if _uses(part, s.buffer)]
        if not used or (used[0], used[-1]) == (0, len(parts) - 1):
            return s
        first, last = used[0], used[-1] + 1
        return seq([*parts[:first], Allocate(s.buffer, seq(parts[first:last])), *parts[last:]])

    return f.with_body(rewrite_stmt(f.body, change))


def _uses(part: Stmt, b: Buffer) -> bool:
    for s in pre_order(part):
        if isinstance(s, Store | Annotate) and s.buffer is b:
            return True
        if any(isinstance(e, Load) and e.source is b for e in post_order(*expressions(s))):
            return True
    return False
