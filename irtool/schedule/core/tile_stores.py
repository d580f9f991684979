"""Stores of a tile's results to memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...tir.expr import Expr, Load, Var, const, substitute
from ...tir.simplify import Simplifier
from ...tir.stmt import SERIAL, UNROLLED, VECTORIZED, Allocate, Buffer, For, Scope, Stmt, Store, seq, substitute_stmt
from .affine import stride
from .forms import Loop
from .strip_mine import vector_segments


def is_transposed(stores: Sequence[Store], lane: Var, inside: Sequence[Loop], simplify: Simplifier) -> bool:
    """True if results are contiguous along the tile's rows, not along its vectors."""
    if len(stores) != 1 or len(inside) < 2 or inside[0][1] < 4:
        return False
    place = stores[0].buffer.offset(stores[0].indices)
    return stride(simplify, place, lane) not in (0, 1) and stride(simplify, place, inside[0][0]) == 1


def is_joined(stores: Sequence[Store], lane: Var, simplify: Simplifier) -> bool:
    """True if results are contiguous along a loop."""
    return all(stride(simplify, s.buffer.offset(s.indices), lane) == 1 for s in stores)


def transposed(
    store: Store,
    inside: Sequence[Loop],
    lane: Var,
    lanes: int,
    valid: int,
    tile: Callable[[Stmt], Stmt],
    simplify: Simplifier,
) -> Stmt:
    """Stores of results through an array, along the tile's rows.

    Single elements of a vector, each in a cache line of its own, would take longer than the sums. The first `valid` elements
    along the vector axis are results.
    """
    (row, steps), (vector, vectors) = inside
    array = Buffer("transposed", (steps, vectors * lanes), store.buffer.dtype, Scope.LOCAL)
    filled = tile(Store(array, (row, vector * lanes + lane if vectors > 1 else lane), store.value))
    column = Var("col")
    copies: list[Stmt] = []
    for first, count, width in vector_segments(steps, lanes):
        outer, x = Var(f"{row.name}_o"), Var(f"{row.name}_v")
        row_index = simplify((outer * width if count != 1 else const(0)) + x + first)
        here: dict[Any, Expr] = {row: row_index, vector: const(0), lane: column}
        indices = [substitute(i, here) for i in store.indices]
        kind = VECTORIZED if width > 1 else SERIAL
        one: Stmt = For(x, width, Store(store.buffer, indices, Load(array, (row_index, column))), kind)
        copies.append(For(outer, count, one) if count != 1 else one)
    return Allocate(array, seq([filled, For(column, min(valid, vectors * lanes), seq(copies))]))


def partial(s: Stmt, inside: list[Loop], in_v: Var, lane: Var, lanes: int, valid: int) -> Stmt:
    """Stores of a tile whose first `valid` elements along the vector axis are results."""
    stmts: list[Stmt] = []
    for n in range(inside[-1][1]):
        count = min(lanes, valid - n * lanes)
        if count > 0:
            some = Var(lane.name)  # it has another range than the whole vector's
            stmts.append(For(some, count, substitute_stmt(s, {in_v: const(n), lane: some}), VECTORIZED))
    whole = seq(stmts)
    for x, m in reversed(inside[:-1]):
        if m > 1:
            whole = For(x, m, whole, UNROLLED)
    return whole
