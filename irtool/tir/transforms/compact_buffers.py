"""Buffers that are as large as what is used of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..expr import Const, Expr, Load, Var, const, post_order, rewrite
from ..sharing import loop_bounds
from ..simplify import Simplifier
from ..stmt import Allocate, Buffer, For, Let, PrimFunc, Stmt, Store, expressions, pre_order, rewrite_stmt


def compact_buffers(f: PrimFunc) -> PrimFunc:
    """The function whose allocated buffers have, along each axis, the extent that is read or written.

    What is used may begin elsewhere in each step of the loops around an allocation (`i*4` to `i*4 + 3`); indices count from there.
    Where the range is not known, an axis stays as it is.
    """
    simplify = Simplifier(loop_bounds(f))
    smaller: dict[Buffer, tuple[Buffer, list[Expr]]] = {}
    for s in pre_order(f.body):
        if isinstance(s, Allocate) and s.buffer.layout is None:
            found = _used(s, simplify)
            if found is not None:
                begins, extents = found
                b = s.buffer
                buffer = Buffer(b.name, extents, b.dtype, b.scope, finite=b.finite)
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
        if isinstance(s, Store) and s.buffer in smaller:
            return Store(smaller[s.buffer][0], moved(s.buffer, s.indices), s.value)
        return s

    memo: dict[Expr, Expr] = {}
    return f.with_body(rewrite_stmt(f.body, change, lambda e: rewrite(e, change_expr, memo)))


def _used(s: Allocate, simplify: Simplifier) -> tuple[list[Expr], list[int]] | None:
    """Where the used part of a buffer begins, and its extents; None if that is all of it."""
    inside: set[Expr] = {x.var for x in pre_order(s.body) if isinstance(x, For | Let)}
    accesses = list(_accesses(s))
    if not accesses:
        return None
    begins, extents = [], []
    for axis, whole in enumerate(s.buffer.shape):
        begin, extent = _range([indices[axis] for indices in accesses], inside, whole, simplify)
        begins.append(begin)
        extents.append(extent)
    return (begins, extents) if tuple(extents) != s.buffer.shape else None


def _accesses(s: Allocate) -> Iterator[tuple[Expr, ...]]:
    """The indices of every read and write of the buffer."""
    for x in pre_order(s.body):
        if isinstance(x, Store) and x.buffer is s.buffer:
            yield x.indices
        for e in post_order(*expressions(x)):
            if isinstance(e, Load) and e.source is s.buffer:
                yield e.indices


def _range(indices: list[Expr], inside: set[Expr], whole: int, simplify: Simplifier) -> tuple[Expr, int]:
    """The first index and the number of indices of an axis that are used; 0 and all if that is not known."""
    around: dict[Expr, int] | None = None
    least, most = float("inf"), float("-inf")
    for index in indices:
        terms, offset = simplify.linear(index)
        outer: dict[Expr, int] = {t: k for t, k in terms.items() if isinstance(t, Var) and t not in inside}
        if around not in (None, outer):
            return const(0), whole
        around = outer
        low = high = float(offset)
        for t, k in terms.items():
            if t not in outer:
                a, b = simplify.range(t)
                low, high = low + min(a * k, b * k), high + max(a * k, b * k)
        least, most = min(least, low), max(most, high)
    if not -(1 << 31) < least <= most < 1 << 31 or most - least + 1 >= whole:
        return const(0), whole
    begin: Expr = Const(int(least), indices[0].dtype)
    for t, k in (around or {}).items():
        begin = begin + t * k
    return begin, int(most - least) + 1
