"""Buffers that are not in use at one time, in one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.buffers import replace_buffers
from ...tir.expr import Load, post_order
from ...tir.stmt import Allocate, Annotate, Buffer, PrimFunc, Seq, Stmt, Store, expressions, pre_order, rewrite_stmt

_FACTOR = 16
"""A buffer takes the place of another one that is at most so many times larger, or smaller."""


def share_storage(f: PrimFunc) -> PrimFunc:
    """The function in which allocations that stand together share memory where one's last use is before the other's first.

    Buffers of one axis share that of the largest; others that of the same shape. dtypes and scopes are the same.
    """
    return f.with_body(rewrite_stmt(f.body, _one_place, None) if _several(f.body) else f.body)


def _several(body: Stmt) -> bool:
    return sum(isinstance(s, Allocate) for s in pre_order(body)) > 1


def _one_place(s: Stmt) -> Stmt:
    """Shares the memory of a run of allocations that stand right inside each other; of the outermost of them only."""
    if not isinstance(s, Allocate):
        return s
    buffers: list[Buffer] = []
    body: Stmt = s
    while isinstance(body, Allocate):
        buffers.append(body.buffer)
        body = body.body
    if len(buffers) < 2:
        return s
    stands_for = _assigned(buffers, body.stmts if isinstance(body, Seq) else (body,))
    if not stands_for:
        return s
    body = replace_buffers(body, stands_for)
    for b in reversed(list(dict.fromkeys(stands_for.get(b, b) for b in buffers))):
        body = Allocate(b, body)
    return body


def _assigned(buffers: Sequence[Buffer], parts: Sequence[Stmt]) -> dict[Buffer, Buffer]:
    """The buffers that lie in another one's memory, and those that grow for it; by liveness over the parts."""
    lifetimes: dict[Buffer, tuple[int, int]] = {}
    for time, part in enumerate(parts):
        for b in _used(part, set(buffers)):
            lifetimes[b] = (lifetimes.get(b, (time, time))[0], time)
    groups: list[tuple[list[Buffer], int]] = []
    for b in sorted((b for b in buffers if b in lifetimes), key=lambda b: lifetimes[b][0]):
        for n, (members, last) in enumerate(groups):
            if last < lifetimes[b][0] and _fits(members, b):
                groups[n] = ([*members, b], lifetimes[b][1])
                break
        else:
            groups.append(([b], lifetimes[b][1]))
    result: dict[Buffer, Buffer] = {}
    for members, _ in groups:
        if len(members) > 1:
            first = members[0]
            largest = max(members, key=lambda b: b.size)
            finite = all(b.finite for b in members)
            same = (largest.shape, finite) == (first.shape, first.finite)
            shared = first if same else first.replace(shape=largest.shape, finite=finite)
            result.update((b, shared) for b in members if b is not shared)
    return result


def _fits(members: Sequence[Buffer], b: Buffer) -> bool:
    first = members[0]
    if (b.dtype, b.scope, b.layout) != (first.dtype, first.scope, first.layout) or b.layout is not None:
        return False
    if b.ndim != 1 or first.ndim != 1:
        return b.shape == first.shape
    large, small = max(x.size for x in (*members, b)), min(x.size for x in (*members, b))
    return small * _FACTOR >= large


def _used(part: Stmt, buffers: set[Buffer]) -> set[Buffer]:
    result: set[Buffer] = set()
    for s in pre_order(part):
        if isinstance(s, Store | Annotate) and s.buffer in buffers:
            result.add(s.buffer)
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and e.source in buffers:
                result.add(e.source)
    return result
