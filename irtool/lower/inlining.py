"""Tensors computed where they are read: the bodies of stages with the expressions of other tensors put in.

Each element is opened once for the place that it is read at: a tensor that is read twice at the same indices is one
expression, and what a body costs is what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from ..te import Compute, Operation
from ..tir.expr import Expr, Load, Reduce, children, post_order, rewrite, substitute
from ..tir.interning import Interner

_LARGEST_BODY = 4000
"""Nodes of an inlined expression; beyond it the tensor is stored."""


def inlined_bodies(order: Sequence[Operation], stored: set[Operation]) -> dict[Operation, tuple[Expr, ...]]:
    """The bodies of the stored formulas of `order`, producers first; formulas whose bodies get too large join `stored`."""
    result = _open_all(order, stored, _LARGEST_BODY)
    if result is None:
        _store_large(order, stored)
        result = _open_all(order, stored, None)
        assert result is not None
    return result


def _open_all(
    order: Sequence[Operation], stored: Set[Operation], limit: int | None
) -> dict[Operation, tuple[Expr, ...]] | None:
    """The bodies of all stored formulas; None if one holds more than `limit` nodes."""
    result: dict[Operation, tuple[Expr, ...]] = {}
    for op in order:
        if isinstance(op, Compute) and op in stored:
            opened = _open(op, stored, limit)
            if opened is None:
                return None
            result[op] = opened[0]
    return result


def _store_large(order: Sequence[Operation], stored: set[Operation]) -> None:
    """Stores results that are too large to be inlined. A bound that counts shared nodes once for each read is enough to see
    that most are small; only those that pass it are opened to be counted.
    """
    bounds: dict[Operation, int] = {}
    for op in order:
        if not isinstance(op, Compute) or op in stored:
            continue
        nodes = post_order(*op.bodies)
        read = (e for e in nodes if isinstance(e, Load) and _opens(e, stored))
        bounds[op] = len(nodes) + sum(bounds[e.source.op] for e in read)
        if bounds[op] > _LARGEST_BODY:
            opened = _open(op, stored, _LARGEST_BODY)
            if opened is None:
                stored.add(op)
            else:
                bounds[op] = opened[1]


def _open(op: Compute, stored: Set[Operation], limit: int | None) -> tuple[tuple[Expr, ...], int] | None:
    """The bodies with all reads of unstored results opened, and their number of nodes; None if that passes `limit`."""
    intern = Interner()
    opened: dict[Expr, Expr] = {}
    """What stands for each node in the end, as far as that is known."""
    raw: dict[Expr, Expr] = {}
    """What stands for a read before the reads in that are opened."""
    bodies = [_rewrite_body(b, intern) for b in op.bodies]
    waiting = _reads(bodies, (), stored)
    if not waiting:
        # Interning may have removed reads: select(c, x, x) is x.
        exprs = bodies if _reads(op.bodies, (), stored) else op.bodies
        return tuple(exprs), len(post_order(*exprs))
    stack: list[tuple[Load, bool]] = [(e, False) for e in reversed(waiting)]
    while stack:
        e, ready = stack.pop()
        if e in opened:
            continue
        if ready:
            opened[e] = rewrite(raw[e], _same, opened)
            continue
        values: dict[Any, Expr] = dict(zip(e.source.op.axes, e.indices))
        inside = raw[e] = intern(substitute(e.source.op.bodies[0], values))
        if limit is not None and len(intern.table) > limit:
            return None
        stack.append((e, True))
        # Reads in indices come before the reads at these indices, and are opened by now.
        stack.extend((x, False) for x in reversed(_reads([inside], e.indices, stored)))
    return tuple(_rewrite_body(b, lambda k: rewrite(k, _same, opened)) for b in bodies), len(intern.table)


def _same(e: Expr) -> Expr:
    return e


def _reads(roots: Sequence[Expr], known: Sequence[Expr], stored: Set[Operation]) -> list[Load]:
    """Reads of unstored results, those in indices first; none below known nodes."""
    return [e for e in post_order(*roots, known=known) if isinstance(e, Load) and _opens(e, stored)]


def _opens(e: Load, stored: Set[Operation]) -> bool:
    return isinstance(e.source.op, Compute) and e.source.op not in stored


def _rewrite_body(body: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The body with `change` done to it; a reduction stays one."""
    if not isinstance(body, Reduce):
        return change(body)
    kids = [change(k) for k in children(body)]
    n = len(body.sources)
    return Reduce(body.reducer, tuple(kids[:n]), body.axes, kids[n] if body.condition is not None else None, body.index)
