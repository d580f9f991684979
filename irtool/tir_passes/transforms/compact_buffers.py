"""Buffers shrunk to their accessed region."""

from __future__ import annotations

from typing import Any

from ...tir.expr import Expr, Load, const, rewrite
from ...tir.regions import accesses, touched_span
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import Allocate, Annotate, Buffer, For, Let, PrimFunc, Stmt, Store, pre_order, rewrite_stmt


def compact_buffers(f: PrimFunc) -> PrimFunc:
    """The function whose allocated buffers have, along each axis, the extent that is read or written.

    What is used may begin elsewhere in each step of the loops around an allocation (`i*4` to `i*4 + 3`); indices count from there.
    Where the range is not known, an axis stays as it is.
    """
    simplify = Simplifier(loop_bounds(f))
    smaller: dict[Buffer, tuple[Buffer, list[Expr]]] = {}
    for s in pre_order(f.body):
        if isinstance(s, Allocate) and s.buffer.layout is None:
            region = _used(s, simplify)
            if region is not None:
                begins, extents = region
                b = s.buffer
                buffer = b.replace(shape=extents)
                smaller[b] = buffer, begins
    if not smaller:
        return f

    def moved(b: Any, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(simplify(i - begin) for i, begin in zip(indices, smaller[b][1], strict=True))

    def change_expr(e: Expr) -> Expr:
        return (
            Load(smaller[e.source][0], moved(e.source, e.indices)) if isinstance(e, Load) and e.source in smaller else e
        )

    def change(s: Stmt) -> Stmt:
        if isinstance(s, Allocate) and s.buffer in smaller:
            return Allocate(smaller[s.buffer][0], s.body)
        if isinstance(s, Annotate) and s.buffer in smaller:
            return Annotate(smaller[s.buffer][0], s.key, s.value, s.body)
        if isinstance(s, Store) and s.buffer in smaller:
            return Store(smaller[s.buffer][0], moved(s.buffer, s.indices), s.value)
        return s

    memo: dict[Expr, Expr] = {}
    return f.with_body(rewrite_stmt(f.body, change, lambda e: rewrite(e, change_expr, memo)))


def _used(s: Allocate, simplify: Simplifier) -> tuple[list[Expr], list[int]] | None:
    """The begin of the accessed region of a buffer, and its extents; None if that is all of it."""
    inside: set[Expr] = {x.var for x in pre_order(s.body) if isinstance(x, For | Let)}
    index_lists = list(accesses(s.body, s.buffer))
    if not index_lists:
        return None
    begins: list[Expr] = []
    extents: list[int] = []
    for axis, whole in enumerate(s.buffer.shape):
        span = touched_span([indices[axis] for indices in index_lists], inside, simplify)
        begin, extent = span if span is not None and span[1] < whole else (const(0), whole)
        begins.append(begin)
        extents.append(extent)
    return (begins, extents) if tuple(extents) != s.buffer.shape else None
