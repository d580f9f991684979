"""Reductions with a register tile: convolutions, matrix products, pooling, sums over outer axes.

    for spatial…:                      for blocks…:
      acc = 0                            acc[a][b][lanes] = 0                   (registers)
      for k…: acc += x[…] * w[…]   ⇒     for k…: acc[a][b][:] += x[a…] * w[b…]  (unrolled, vectors)
      out[…] = f(acc)                    out[…] = f(acc[a][b][:])

The vector axis is a spatial loop along which every operand is contiguous or constant; the tile's rows are another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ..tir.expr import Const, Expr, Load, Var, const, post_order, rewrite, substitute
from ..tir.simplify import Simplifier
from ..tir.stmt import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    If,
    Stmt,
    Store,
    expressions,
    pre_order,
    seq,
    substitute_stmt,
)
from .affine import coefficients, depends, loads, simplifier
from .guards import bounded_loop, free_range
from .nests import Loop, Reduction
from .plans import Plan, decided, is_padded
from .results import is_turned, partial, turned
from .sliding import WINDOW, choose_sliding

_PARALLEL_WORK = 1 << 18

_MANY_STEPS = 32
"""Steps of a loop that several threads can share evenly."""


def schedule(r: Reduction, p: Plan) -> Stmt:
    """The tiled nest."""
    _, extent = r.loops[p.vector]
    whole, left = divmod(extent, p.lanes)
    body: list[Stmt] = []
    # What is left over is a narrower vector, where there is one, or a whole one of which not all is stored.
    padded = left & (left - 1) and not (p.again and whole) and is_padded(r, r.loops[p.vector][0], (whole + 1) * p.lanes)
    # Segments of the vector axis: (first element, number of tiles, vectors per tile, lanes).
    segments = [(0, whole // p.tile.vectors, p.tile.vectors, p.lanes)] if whole >= p.tile.vectors else []
    done = whole // p.tile.vectors * p.tile.vectors
    if padded or whole - done:
        segments.append((done * p.lanes, 1, whole - done + bool(padded), p.lanes))
    if left and not padded:
        overlaps = p.again and whole and left & (left - 1)
        segments.append((extent - p.lanes, 1, 1, p.lanes) if overlaps else (whole * p.lanes, 1, 1, left))
    rows: list[tuple[int, int, int]] = [(0, 1, 1)]
    if p.row is not None:
        n = r.loops[p.row][1]
        rows = _row_segments(r, p.row, min(p.tile.rows, n))
    others: dict[Var, Var] = {x: Var(x.name) for n, (x, _) in enumerate(r.loops) if n not in (p.vector, p.row)}
    for first, tiles, vectors, lanes in segments:
        for start, count, steps in rows:
            body.append(_tiled(r, p, others, (first, tiles, vectors, lanes), (start, count, steps)))
    return _in_one_loop(body)


def _in_one_loop(parts: Sequence[Stmt]) -> Stmt:
    """The nests inside of the loop that all of them have outermost, if they have: other stages can join it.

    Threads then share the steps of that loop only, so that there must be many.
    """
    loops = [s for s in parts if isinstance(s, For)]
    if len(parts) < 2 or len(loops) < len(parts) or any(s.var is not loops[0].var for s in loops):
        return seq(list(parts))
    extent = loops[0].extent
    if not isinstance(extent, Const) or extent.value < _MANY_STEPS:
        return seq(list(parts))
    return For(loops[0].var, loops[0].extent, seq([s.body for s in loops]), loops[0].kind)


def _row_segments(r: Reduction, row: int, size: int) -> list[tuple[int, int, int]]:
    """The row loop cut into (first step, number of tiles, steps of a tile), so that guards hold throughout or are those of
    a single tile."""
    x, n = r.loops[row]
    first, last = free_range(simplifier(r.loops, r.inner), list(r.guards), x, n)
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < n:
        count, steps = 1, min(size, n - at)
        if at >= first and at + steps - 1 <= last:
            count = max(1, (last + 1 - at) // steps)
        found.append((at, count, steps))
        at += count * steps
    return found


def plain(r: Reduction) -> Stmt:
    """The nest as it was."""
    update: Stmt = Store(r.acc, (), r.update)
    for x, n in reversed(r.inner):
        update = For(x, n, update)
    made: Stmt = Allocate(r.acc, seq([Store(r.acc, (), r.init), update, *r.stores]))
    for n, (x, size) in reversed(list(enumerate(r.loops))):
        made = For(x, size, made, PARALLEL if n == 0 and r.work >= _PARALLEL_WORK else SERIAL)
    return made


def _tiled(
    r: Reduction, p: Plan, others: dict[Var, Var], segment: tuple[int, int, int, int], row: tuple[int, int, int]
) -> Stmt:
    """The nest for a segment of the vector axis and one of the rows; `others`: the variables of the other loops."""
    first, tiles, vectors, lanes = segment
    start, count, steps = row
    v, _ = r.loops[p.vector]
    tile_v, in_v, lane = Var(f"{v.name}_o"), Var(f"{v.name}_t"), Var(f"{v.name}_v")
    values: dict[Expr, Expr] = {v: (tile_v * vectors + in_v) * lanes + lane + first}
    loops: list[tuple[Var, int]] = []
    inside: list[tuple[Var, int]] = []
    for n, (x, extent) in enumerate(r.loops):
        if n == p.vector:
            loops.append((tile_v, tiles))
        elif n == p.row:
            tile_x, in_x = Var(f"{x.name}_o"), Var(f"{x.name}_t")
            values[x] = tile_x * steps + in_x + start
            loops.append((tile_x, count))
            inside.append((in_x, steps))
        else:
            values[x] = others[x]
            loops.append((others[x], extent))
    inside.append((in_v, vectors))
    # Loops that the vector operand moves with go outside, so that its part stays in cache.
    loops = _ordered(r, p, loops)
    inner = [(Var(x.name), m) for x, m in r.inner]
    for (x, _), (y, _) in zip(r.inner, inner):
        values[x] = y
    simplify = simplifier(loops, inside, inner, [(lane, lanes)])
    for x, extent in (*loops, *inside, *inner):
        if extent == 1:
            simplify.bind(x, 0, 0)
    acc = Buffer(r.acc.name, [m for _, m in inside] + [lanes], r.acc.dtype, "register")
    place = tuple([x if m > 1 else const(0) for x, m in inside] + [lane if lanes > 1 else const(0)])
    zero: dict[Expr, Expr] = {x: const(0) for x, m in (*loops, *inside, *inner, (lane, lanes)) if m == 1}
    memo: dict[Expr, Expr] = {k: rewrite(e, lambda y: y, dict(zero)) for k, e in values.items()}

    def at_acc(e: Expr) -> Expr:
        return Load(acc, place) if isinstance(e, Load) and e.source is r.acc else e

    done: dict[Expr, Expr] = dict(memo)

    def change(e: Expr) -> Expr:
        return simplify(rewrite(e, at_acc, done))

    def tile(s: Stmt) -> Stmt:
        if lanes > 1:
            s = For(lane, lanes, s, VECTORIZED)
        used = _used_variables(s)
        for x, m in reversed(inside):
            if m > 1 and x in used:
                s = For(x, m, s, UNROLLED)
        return s

    update = _update(
        r, p, Store(acc, place, change(r.update)), [change(g) for g in r.guards], inside, inner, tile, simplify
    )
    stores = [Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in r.stores]
    valid = r.loops[p.vector][1] - first
    if is_turned(stores, lane, inside, simplify):
        results = turned(stores[0], inside, lane, lanes, valid if tiles == 1 else vectors * lanes, tile, simplify)
    elif tiles == 1 and valid < vectors * lanes:
        results = partial(seq(stores), inside, in_v, lane, lanes, valid)
    else:
        results = tile(seq(stores))
    made: Stmt = Allocate(acc, seq([tile(Store(acc, place, change(r.init))), update, results]))
    parallel = r.work >= _PARALLEL_WORK
    kept = [(x, m) for x, m in loops if m > 1]
    for n, (x, m) in reversed(list(enumerate(kept))):
        made = For(x, m, made, PARALLEL if n == 0 and parallel else SERIAL)
    return made


def _used_variables(s: Stmt) -> set[Expr]:
    return {e for x in pre_order(s) for e in post_order(*expressions(x)) if isinstance(e, Var)}


def _update(
    r: Reduction,
    p: Plan,
    step: Store,
    guards: list[Expr],
    inside: list[Loop],
    inner: list[Loop],
    tile: Callable[[Stmt], Stmt],
    simplify: Simplifier,
) -> Stmt:
    """The reduction's loops around the tile's updates, where the guards are at least 0."""
    open_guards = [g for g in guards if simplify.range(g)[0] < 0]
    unrolled = [k for k in decided(r, p.row, inner) if k[1] > 1] if open_guards else []
    written = {k for k, _ in unrolled}
    bounded: dict[Var, list[Expr]] = {}
    outside: list[Expr] = []
    each: list[Expr] = []
    for g in open_guards:
        moving = [k for k, m in inner if m > 1 and depends(g, k)]
        if any(depends(g, x) for x, m in inside if m > 1) or len(moving) > 1 or written.intersection(moving):
            each.append(g)
        elif moving:
            bounded.setdefault(moving[0], []).append(g)
        else:
            outside.append(g)
    free = [k for k in inner if k[0] not in bounded]
    sliding = None
    if not (p.shared or unrolled or each):
        rows = inside[0]
        if p.row is not None and rows[1] > 1 and step.buffer.shape[-1] > 1:
            sliding = choose_sliding(step, rows, free, simplify)
        if sliding is None and free and free[-1] is inner[-1] and 1 < inner[-1][1] <= WINDOW:
            unrolled = [inner[-1]]
            written = {inner[-1][0]}
    if sliding is not None:
        columns = sliding.columns(rows, free, simplify)
        written = {sliding.loop[0], *(k for k, _ in columns)}
        one = sliding.written(step, rows, tile)
        steps = product(*(range(m) for _, m in columns))
        update = seq([substitute_stmt(one, {k: const(n) for (k, _), n in zip(columns, at)}) for at in steps])
    elif unrolled or each:
        update = _written_out(step, each, unrolled, inside, tile, simplify)
    else:
        update = tile(step)
    for k, m in reversed(inner):
        if m == 1 or k in written:
            continue
        if k in bounded:
            update = bounded_loop(simplify, bounded[k], k, m, update)
        else:
            update = For(k, m, update)
    for g in outside:
        update = If(const(-1) < g, update)
    return update


def _written_out(
    step: Stmt,
    guards: list[Expr],
    unrolled: list[Loop],
    inside: list[Loop],
    tile: Callable[[Stmt], Stmt],
    simplify: Simplifier,
) -> Stmt:
    """The updates one after the other, without those that a guard rules out."""
    places = [loop for loop in inside if loop[1] > 1 and any(depends(g, loop[0]) for g in guards)]
    made: list[Stmt] = []
    loops = [*unrolled, *places]
    for values in product(*(range(m) for _, m in loops)):
        here: dict[Any, Expr] = {v: const(n) for (v, _), n in zip(loops, values)}
        ranges = [(g, simplify.range(g)) for g in (simplify(substitute(g, here)) for g in guards)]
        if any(high < 0 for _, (_, high) in ranges):
            continue
        one = tile(substitute_stmt(step, here))
        for g, (low, _) in ranges:
            if low < 0:
                one = If(const(-1) < g, one)
        made.append(one)
    return seq(made)


def _ordered(r: Reduction, p: Plan, loops: list[tuple[Var, int]]) -> list[tuple[Var, int]]:
    simplify = simplifier(r.loops, r.inner)
    v = r.loops[p.vector][0]
    places = [e.source.offset(e.indices) for e in loads(r.update) if e.source is not r.acc]
    vector_places = [i for i in places if coefficients(simplify, i, (v,))[0] != 0]
    outside: list[tuple[Var, int]] = []
    rest: list[tuple[Var, int]] = []
    for (x, _), loop in zip(r.loops, loops):
        moves = any(coefficients(simplify, i, (x,))[0] != 0 for i in vector_places)
        (outside if moves else rest).append(loop)
    if not rest or not outside:
        return loops
    return outside + rest
