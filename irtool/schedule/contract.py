"""Reductions with a register tile: convolutions, matrix products, pooling, sums over outer axes.

    for spatial…:                      for blocks…:
      acc = 0                            acc[a][b][lanes] = 0                   (registers)
      for k…: acc += x[…] * w[…]   ⇒     for k…: acc[a][b][:] += x[a…] * w[b…]  (unrolled, vectors)
      out[…] = f(acc)                    out[…] = f(acc[a][b][:])

The vector axis is a spatial loop along which every operand is contiguous or constant; the tile's rows are another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ..tir import dtypes
from ..tir.expr import Expr, Load, Select, Var, const, post_order, rewrite, substitute
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
from .affine import coefficients, depends, loads, stride
from .guards import bounded_loop, free_range
from .machine import Machine
from .nests import Loop, Reduction
from .splitting import divided_by, pieces
from .tiles import Tile, choose_tile, choose_window

_PARALLEL_WORK = 1 << 18

_LONGEST_TILE = 160
"""Updates of accumulators that are written out one after the other."""

_WINDOW = 8
"""Steps of a loop that is unrolled so that neighbouring results share what they read."""


@dataclass(frozen=True)
class Plan:
    """Which loop is vectorized with how many lanes, which is tiled, and the tile."""

    vector: int
    lanes: int
    row: int | None
    tile: Tile
    reason: str
    shared: bool = True
    """Whether the steps of the tile's rows share an operand; otherwise what they share is in neighbouring elements."""

    again: bool = False
    """Whether results may be made twice: the last vector then overlaps the one before."""


def flatten_loops(r: Reduction) -> Reduction:
    """Fuses neighbouring spatial loops through which every place moves as through one loop (height and width of a 1x1
    convolution)."""
    loops = list(r.loops)
    at = len(loops) - 1
    while at > 0:
        (outer, n), (inner, m) = loops[at - 1], loops[at]
        simplify = _bounds(loops, r.inner)
        guarded = any(depends(g, v) for g in r.guards for v in (outer, inner))
        if not guarded and all(
            a is not None and b is not None and a == b * m
            for a, b in (coefficients(simplify, i, (outer, inner)) for i in _places(r))
        ):
            fused = Var(f"{outer.name}{inner.name}")
            # Everywhere `outer * m + inner` is the fused variable: outer alone may stand for none of it.
            values: dict[Expr, Expr] = {outer: fused // m, inner: fused % m}
            r = _substituted(r, values, (*loops[: at - 1], (fused, n * m), *loops[at + 1 :]))
            loops = list(r.loops)
        at -= 1
    return r


def flatten_sums(r: Reduction) -> Reduction:
    """Fuses neighbouring loops of the sum through which every place moves as through one loop (height and width of an image of
    which the mean is taken)."""
    at = len(r.inner) - 1
    while at > 0:
        (outer, n), (inner, m) = r.inner[at - 1], r.inner[at]
        simplify = _bounds(r.loops, r.inner)
        guarded = any(depends(g, v) for g in r.guards for v in (outer, inner))
        places = [e.source.offset(e.indices) for e in loads(r.update) if e.source is not r.acc]
        moved = [coefficients(simplify, i, (outer, inner)) for i in places]
        if not guarded and all(a is not None and b is not None and a == b * m for a, b in moved):
            fused = Var(f"{outer.name}{inner.name}")
            inside = (*r.inner[: at - 1], (fused, n * m), *r.inner[at + 1 :])
            joined = Reduction(r.loops, r.acc, r.init, inside, r.update, r.stores, r.guards)
            r = _substituted(joined, {outer: fused // m, inner: fused % m}, r.loops)
        at -= 1
    return r


def split_loops(r: Reduction) -> Reduction:
    """Loops split where operands lie in blocks: `for c: x[c // 16, …, c % 16]  ⇒  for c_b, …, c_i`."""
    for v, extent in r.inner:
        simplify = _bounds(r.loops, r.inner)
        factor = divided_by(simplify, _places(r), v, extent)
        if factor:
            outer, inner = Var(f"{v.name}_b"), Var(f"{v.name}_i")
            at = next(n for n, (x, _) in enumerate(r.inner) if x is v)
            loops = (*r.inner[:at], (outer, extent // factor), *r.inner[at + 1 :], (inner, factor))
            r = Reduction(r.loops, r.acc, r.init, loops, r.update, r.stores, r.guards)
            r = _substituted(r, {v: outer * factor + inner}, r.loops)
    return r


def split_groups(r: Reduction) -> Reduction:
    """Loops over results split where an operand's index divides them: groups of channels and the channels of one."""
    for v, extent in r.loops:
        simplify = _bounds(r.loops, r.inner)
        indices = [i for e in loads(r.update) if e.source is not r.acc for i in e.indices]
        factor = divided_by(simplify, indices, v, extent)
        if factor:
            outer, inner = Var(f"{v.name}_g"), Var(v.name)
            at = next(n for n, (x, _) in enumerate(r.loops) if x is v)
            loops = (*r.loops[:at], (outer, extent // factor), (inner, factor), *r.loops[at + 1 :])
            r = _substituted(r, {v: outer * factor + inner}, loops)
    return r


def _places(r: Reduction) -> list[Expr]:
    found = [e.source.offset(e.indices) for e in loads(r.update, *(s.value for s in r.stores)) if e.source is not r.acc]
    return found + [s.buffer.offset(s.indices) for s in r.stores]


def _bounds(*groups: Sequence[Loop]) -> Simplifier:
    return Simplifier({v: (0, n - 1) for g in groups for v, n in g})


def _substituted(r: Reduction, values: dict[Expr, Expr], loops: tuple[Loop, ...]) -> Reduction:
    simplify = _bounds(loops, r.inner)
    memo = dict(values)

    def change(e: Expr) -> Expr:
        return simplify(rewrite(e, lambda x: x, memo))

    stores = tuple(Store(s.buffer, [change(i) for i in s.indices], change(s.value)) for s in r.stores)
    guards = tuple(change(g) for g in r.guards)
    return Reduction(loops, r.acc, change(r.init), r.inner, change(r.update), stores, guards)


def plan(r: Reduction, machine: Machine, again: bool = False) -> Plan | None:
    """How to schedule a reduction; None where no spatial loop can be vectorized. `again`: results may be made twice."""
    lanes = machine.lanes(dtypes.itemsize(r.acc.dtype))
    if lanes < 2 or r.acc.dtype not in ("float32", "float64", "int32"):
        return None
    best: tuple[float, Plan] | None = None
    for n in range(len(r.loops)):
        made = None
        width = lanes
        while made is None and width >= 4:  # blocks may be narrower than a vector
            made = _plan_along(r, n, width, machine, again)
            width //= 2
        if made is not None and (best is None or made[0] < best[0]):
            best = made
    return best[1] if best is not None else None


def _plan_along(r: Reduction, n: int, lanes: int, machine: Machine, again: bool) -> tuple[float, Plan] | None:
    v, extent = r.loops[n]
    padded = _is_padded(r, v, -(-extent // lanes) * lanes)
    if not padded and (extent < lanes or (not again and extent % lanes * 4 > extent)):
        return None
    if 2 * extent <= lanes:
        return None
    outer, inner = Var(v.name), Var(f"{v.name}v")
    loops = [*r.loops[:n], (outer, extent // lanes), *r.loops[n + 1 :], (inner, lanes)]
    split = _substituted(r, {v: outer * lanes + inner}, tuple(loops))
    simplify = _bounds(loops, r.inner)
    contiguous = apart = 0
    for e in loads(split.update):
        if e.source is r.acc:
            continue
        s = stride(simplify, e.source.offset(e.indices), inner)
        if s not in (0, 1, 2):
            return None
        contiguous += s > 0
        apart += s == 2
    if not contiguous or not _uniform_guards(split.update, inner):
        return None
    scattered = sum(1 for s in split.stores if stride(simplify, s.buffer.offset(s.indices), inner) != 1)
    row, shared = _row(split, n, outer)
    rows = split.loops[row][1] if row is not None else 1
    if any(depends(g, v) for g in r.guards):
        return None
    vectors = -(-extent // lanes) if padded else extent // lanes
    if shared or row is None:
        tile = choose_tile(rows, vectors, machine.registers, shared, _block(r, v) // lanes)
    else:
        tile = choose_window(rows, vectors, machine.registers)
    if row is not None:
        tile = _bounded(r, row, tile)
    points = tile.rows * tile.vectors
    leftover: float = 0 if padded else extent % lanes / extent
    if again and leftover:
        leftover = (lanes - extent % lanes) / extent / lanes
    inner_steps = 1
    for _, m in r.inner:
        inner_steps *= m
    cost = (1 / lanes) * (1 + (tile.rows + tile.vectors) / points + (4 / points if points < 8 else 0)) + leftover
    cost += scattered * 2 / max(1, inner_steps) + apart
    reason = f"vector axis {v.name} of {extent}, tile {tile.rows} x {tile.vectors} x {lanes}"
    return cost, Plan(n, lanes, row, tile, reason, shared, again)


def _is_padded(r: Reduction, v: Var, extent: int) -> bool:
    """True if every operand that moves with `v` has that many elements along it, more than there are results."""
    found = False
    simplify = Simplifier({x: (0, (extent if x is v else n) - 1) for x, n in (*r.loops, *r.inner)})
    for e in loads(r.update):
        for axis, i in enumerate(e.indices):
            if e.source is not r.acc and depends(i, v):
                if not stride(simplify, i, v) or simplify.range(i)[1] >= e.source.shape[axis]:
                    return False
                found = True
    return found


def _bounded(r: Reduction, row: int, tile: Tile) -> Tile:
    """The tile, with fewer rows where the loops that must be unrolled for its guards would make it too long."""
    steps = 1
    for _, m in _decided(r, row, []):
        steps *= m
    return Tile(max(1, min(tile.rows, _LONGEST_TILE // (steps * tile.vectors))), tile.vectors)


def _decided(r: Reduction, row: int | None, inner: list[Loop]) -> list[Loop]:
    """Inner loops that guards connect with the rows of the tile; `inner` are the loops to choose from (default: its own)."""
    if row is None:
        return []
    x = r.loops[row][0]
    together = [g for g in r.guards if depends(g, x)]
    return [loop for (k, _), loop in zip(r.inner, inner or r.inner) if any(depends(g, k) for g in together)]


def _block(r: Reduction, v: Var) -> int:
    """Elements that lie side by side along `v` in an operand stored in blocks; 0 if none is."""
    sizes = [0]
    for e in loads(r.update):
        layout = e.source.layout
        if layout is not None and e.source is not r.acc and e.indices[layout[-1][0]] is v:
            sizes.append(layout[-1][2])
    return max(sizes)


def _uniform_guards(e: Expr, inner: Var) -> bool:
    """No branch of an `if_then_else` depends on the lane."""
    return not any(
        isinstance(x, Select) and x.lazy and any(y is inner for y in post_order(x.cond)) for x in post_order(e)
    )


def _row(r: Reduction, vector: int, outer: Var) -> tuple[int | None, bool]:
    """The loop whose steps share the vector operand best: an operand that moves with the vector axis does not move with
    it. Innermost such loop first; without one, any loop (nothing is shared then)."""
    simplify = _bounds(r.loops, r.inner)
    lane = r.loops[-1][0]
    places = [e.source.offset(e.indices) for e in loads(r.update) if e.source is not r.acc]
    candidates = [n for n in range(len(r.loops) - 1) if n != vector and r.loops[n][1] > 1]
    for n in reversed(candidates):
        x = r.loops[n][0]
        moved = [coefficients(simplify, p, (lane, x)) for p in places]
        if any(a and b == 0 for a, b in moved):
            return n, not any(a and b for a, b in moved)
    if candidates:
        return candidates[-1], False
    return None, True


def schedule(r: Reduction, p: Plan, machine: Machine) -> Stmt:
    """The tiled nest."""
    _, extent = r.loops[p.vector]
    whole, left = divmod(extent, p.lanes)
    body: list[Stmt] = []
    # What is left over is a narrower vector, where there is one, or a whole one of which not all is stored.
    padded = (
        left & (left - 1) and not (p.again and whole) and _is_padded(r, r.loops[p.vector][0], (whole + 1) * p.lanes)
    )
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
    for first, tiles, vectors, lanes in segments:
        for start, count, steps in rows:
            body.append(_tiled(r, p, (first, tiles, vectors, lanes), (start, count, steps)))
    return seq(body)


def _row_segments(r: Reduction, row: int, size: int) -> list[tuple[int, int, int]]:
    """The row loop cut into (first step, number of tiles, steps of a tile), so that guards hold throughout or are those of
    a single tile."""
    x, n = r.loops[row]
    first, last = free_range(_bounds(r.loops, r.inner), list(r.guards), x, n)
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


def _tiled(r: Reduction, p: Plan, segment: tuple[int, int, int, int], row: tuple[int, int, int]) -> Stmt:
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
            fresh = Var(x.name)
            values[x] = fresh
            loops.append((fresh, extent))
    inside.append((in_v, vectors))
    # Loops that the vector operand moves with go outside, so that its part stays in cache.
    loops = _ordered(r, p, loops)
    inner = [(Var(x.name), m) for x, m in r.inner]
    for (x, _), (y, _) in zip(r.inner, inner):
        values[x] = y
    simplify = _bounds(loops, inside, inner, [(lane, lanes)])
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
    if _is_turned(stores, lane, inside, simplify):
        results = _turned(stores[0], inside, lane, lanes, valid if tiles == 1 else vectors * lanes, tile, simplify)
    elif tiles == 1 and valid < vectors * lanes:
        results = _partial(seq(stores), inside, in_v, lane, lanes, valid)
    else:
        results = tile(seq(stores))
    made: Stmt = Allocate(acc, seq([tile(Store(acc, place, change(r.init))), update, results]))
    parallel = r.work >= _PARALLEL_WORK
    kept = [(x, m) for x, m in loops if m > 1]
    for n, (x, m) in reversed(list(enumerate(kept))):
        made = For(x, m, made, PARALLEL if n == 0 and parallel else SERIAL)
    return made


def _is_turned(stores: Sequence[Store], lane: Var, inside: Sequence[Loop], simplify: Simplifier) -> bool:
    """True if results lie side by side along the tile's rows, not along its vectors."""
    if len(stores) != 1 or len(inside) < 2 or inside[0][1] < 4:
        return False
    place = stores[0].buffer.offset(stores[0].indices)
    return stride(simplify, place, lane) not in (0, 1) and stride(simplify, place, inside[0][0]) == 1


def _turned(
    store: Store,
    inside: Sequence[Loop],
    lane: Var,
    lanes: int,
    valid: int,
    tile: Callable[[Stmt], Stmt],
    simplify: Simplifier,
) -> Stmt:
    """Results by way of an array, from which they are stored along the rows: single elements of a vector, each in a line of
    its own, would take longer than the sums. The first `valid` elements along the vector axis are results."""
    (row, steps), (vector, vectors) = inside
    array = Buffer("turned", (steps, vectors * lanes), store.buffer.dtype, "local")
    filled = tile(Store(array, (row, vector * lanes + lane if vectors > 1 else lane), store.value))
    column = Var("col")
    copies: list[Stmt] = []
    for first, count, width in pieces(steps, lanes):
        outer, x = Var(f"{row.name}_o"), Var(f"{row.name}_v")
        at = simplify((outer * width if count > 1 else const(0)) + x + first)
        here: dict[Any, Expr] = {row: at, vector: const(0), lane: column}
        indices = [substitute(i, here) for i in store.indices]
        kind = VECTORIZED if width > 1 else SERIAL
        one: Stmt = For(x, width, Store(store.buffer, indices, Load(array, (at, column))), kind)
        copies.append(For(outer, count, one) if count > 1 else one)
    return Allocate(array, seq([filled, For(column, min(valid, vectors * lanes), seq(copies))]))


def _partial(s: Stmt, inside: list[Loop], in_v: Var, lane: Var, lanes: int, valid: int) -> Stmt:
    """The stores of a tile of which only the first `valid` elements along the vector axis are results."""
    made: list[Stmt] = []
    for n in range(inside[-1][1]):
        count = min(lanes, valid - n * lanes)
        if count > 0:
            some = Var(lane.name)  # it has another range than the whole vector's
            made.append(For(some, count, substitute_stmt(s, {in_v: const(n), lane: some}), VECTORIZED))
    whole = seq(made)
    for x, m in reversed(inside[:-1]):
        if m > 1:
            whole = For(x, m, whole, UNROLLED)
    return whole


def _used_variables(s: Stmt) -> set[Expr]:
    return {e for x in pre_order(s) for e in post_order(*expressions(x)) if isinstance(e, Var)}


def _update(
    r: Reduction,
    p: Plan,
    step: Stmt,
    guards: list[Expr],
    inside: list[Loop],
    inner: list[Loop],
    tile: Callable[[Stmt], Stmt],
    simplify: Simplifier,
) -> Stmt:
    """The reduction's loops around the tile's updates, where the guards are at least 0."""
    open_guards = [g for g in guards if simplify.range(g)[0] < 0]
    unrolled = [k for k in _decided(r, p.row, inner) if k[1] > 1] if open_guards else []
    if not p.shared and not unrolled and inner and 1 < inner[-1][1] <= _WINDOW:
        unrolled = [inner[-1]]
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
    if unrolled or each:
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
    simplify = _bounds(r.loops, r.inner)
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
