"""Vectorized loops right around stores, which is the form that backends make vectors of; those that have none run serially."""

from __future__ import annotations

from .expr import Expr, Var, post_order
from .independence import is_independent
from .sharing import loop_bounds
from .stmt import SERIAL, VECTORIZED, Annotate, For, If, PrimFunc, Seq, Stmt, Store, rewrite_stmt, seq, substitute_stmt


def vectorize_loops(f: PrimFunc) -> PrimFunc:
    """The function whose vectorized loops have one store each.

    A loop moves into blocks, loops and branches on what is the same in all of its steps. Where a step may touch what another one
    writes, or a part has no such form, the loop of that part is serial.
    """
    bounds = loop_bounds(f)

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or s.kind != VECTORIZED:
            return s
        if isinstance(s.body, Store) and is_independent(s, bounds):
            return s
        if not is_independent(s, bounds):
            return For(s.var, s.extent, s.body, SERIAL)
        return _pushed(s)

    return f.with_body(rewrite_stmt(f.body, change))


def devectorize_loops(f: PrimFunc) -> PrimFunc:
    """The function whose vectorized loops are serial."""

    def change(s: Stmt) -> Stmt:
        return For(s.var, s.extent, s.body, SERIAL) if isinstance(s, For) and s.kind == VECTORIZED else s

    return f.with_body(rewrite_stmt(f.body, change))


def _pushed(loop: For) -> Stmt:
    """A loop of independent steps, moved to the stores inside."""
    done: list[Stmt] = []
    stack: list[tuple[Stmt, bool]] = [(loop.body, False)]
    while stack:
        s, ready = stack.pop()
        if isinstance(s, Seq):
            if not ready:
                stack.append((s, True))
                stack.extend((k, False) for k in reversed(s.stmts))
                continue
            first = len(done) - len(s.stmts)
            done[first:] = [seq(done[first:])]
        elif isinstance(s, If) and not _depends(s.cond, loop.var):
            if not ready:
                stack += [(s, True), *(((s.other, False),) if s.other is not None else ()), (s.then, False)]
                continue
            other = done.pop() if s.other is not None else None
            done.append(If(s.cond, done.pop(), other))
        elif isinstance(s, Annotate):
            if not ready:
                stack += [(s, True), (s.body, False)]
                continue
            done.append(Annotate(s.buffer, s.key, s.value, done.pop()))
        elif isinstance(s, For) and s.kind != VECTORIZED and not _depends(s.extent, loop.var):
            if not ready:
                stack += [(s, True), (s.body, False)]
                continue
            done.append(For(s.var, s.extent, done.pop(), s.kind))
        else:
            # One variable is bound once: each copy of the loop has its own.
            var = Var(loop.var.name, loop.var.dtype) if done or stack else loop.var
            done.append(_around(s, loop, var))
    return done[0]


def _around(s: Stmt, loop: For, var: Var) -> Stmt:
    body = s if var is loop.var else substitute_stmt(s, {loop.var: var})
    return For(var, loop.extent, body, VECTORIZED if isinstance(s, Store) else SERIAL)


def _depends(e: Expr, v: Var) -> bool:
    return any(x is v for x in post_order(e))
