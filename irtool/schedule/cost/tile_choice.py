"""Register tiles of reductions: the vectorized loop, and the rows and vectors of the tile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

from ...symbolic_int import bound, estimate, is_known
from ...tir.dtypes import is_float, is_int, itemsize
from ...tir.expr import Binary, Call, Cast, Expr, Load, Select, Var, children, post_order
from ...tir.int8_dot import LONG_DOTS
from ...tir.memory import CACHE_LINE
from ...tir.simplify import Simplifier
from ...tir.stmt import Scope
from ...tir.vector_target import VectorTarget
from ..core.affine import coefficients, depends, moves, offsets, operands, product_factors, simplifier, stride, summand
from ..core.float16_lanes import accumulator_lanes
from ..core.forms import Loop, Reduction, substituted
from ..core.hoist_factors import largest_product
from .machine import (
    CACHE_WAY,
    CROWDED_STORE,
    GATHERED_ELEMENT,
    SCATTERED_STORE,
    SECOND_CACHE_SHARE,
    SHUFFLED_READ,
    TALLEST_TILE,
    WIDEST_TILE,
)
from .register_tiles import Tile, WindowReads, choose_tile, choose_window_tile, tile_cost


@dataclass(frozen=True)
class TileChoice:
    """The vectorized loop with its number of lanes, the loop of the tile's rows, and the tile."""

    vector: int
    lanes: int
    row: int | None
    tile: Tile
    reason: str
    cost: float
    """Estimated cycles per update."""

    shared: bool = True
    """True if the steps of the tile's rows share an operand; otherwise they share neighbouring elements only."""

    again: bool = False
    """True if results may be computed twice: the last vector then overlaps the one before."""

    is_half_last: bool = False
    """True if the last vector is half as wide, and does not overlap the one before: it takes half the time."""


def choose_register_tile(
    r: Reduction, target: VectorTarget, again: bool = False, gathered: bool = False
) -> TileChoice | None:
    """The tile for a reduction; None if no spatial loop can be vectorized.

    `again`: results may be computed twice. `gathered`: vectors may be assembled from elements with any stride.
    """
    is_static = all(is_known(n) for _, n in (*r.loops, *r.inner))
    choose = _choose_once if is_static else _choose  # a formula equals a number
    return choose(r, target, again, gathered)


@estimate
def _choose(r: Reduction, target: VectorTarget, again: bool, gathered: bool) -> TileChoice | None:
    if has_whole_parts(r):
        target = replace(target, registers=max(4, target.registers // 2))
    lanes = accumulator_lanes(r, target)
    if lanes < 2 or r.acc.dtype not in ("float32", "float64", "float16", "bfloat16", "int32", "int8", "uint8"):
        return None
    best: TileChoice | None = None
    for n in range(len(r.loops)):
        choice: TileChoice | None = None
        width = lanes
        # Blocks may be narrower than a vector; so are vectors that would be stored element by element otherwise.
        while width >= 4 and (choice is None or _is_scattered(r, n, choice.lanes)):
            narrower = _plan_along(r, n, width, target, again, gathered)
            if choice is None or (
                narrower is not None and (not _is_scattered(r, n, width) or narrower.cost < choice.cost)
            ):
                choice = narrower
            width //= 2
        if choice is not None and (best is None or choice.cost < best.cost):
            best = choice
    return best


_choose_once = lru_cache(maxsize=256)(_choose)
"""Stages that rewrite programs, and the choice of strategies, ask for the tiles of the same reductions."""


def _plan_along(
    r: Reduction, n: int, lanes: int, target: VectorTarget, again: bool, gathered: bool
) -> TileChoice | None:
    v, extent = r.loops[n]
    padded = is_padded(r, v, -(-extent // lanes) * lanes)
    if not padded and (extent < lanes or (not again and lanes > 4 and extent % lanes * 2 > extent)):
        return None
    if 2 * extent <= lanes:
        return None
    split, inner = _split(r, n, lanes)
    outer = split.loops[n][0]
    reads = _vector_reads(split, inner, target, gathered)
    if reads is None or not _uniform_guards(split.update, inner):
        return None
    scattered = _scattered(split, inner)
    row, shared = _row(split, n, outer)
    rows = split.loops[row][1] if row is not None else 1
    if any(depends(g, v) for g in r.guards):
        return None
    whole, left = divmod(extent, lanes)
    ends_in_half = again and not padded and _ends_in_half(extent, lanes, target)
    vectors = -(-extent // lanes) if padded or (again and whole and not ends_in_half) else whole
    together, prepared = rows_together(r, target), operations_of_unpacking(split, inner)
    windows = None if shared or row is None else _window_reads(r, n, row, lanes, target)
    if windows is None:
        block = _block(r, v) // lanes

        def fitted(rows: int, vectors: int) -> Tile:
            return choose_tile(rows, vectors, target, block, reads.far > 0, together, across=True, prepared=prepared)

        tile = fitted(rows, vectors)
        if tile.vectors > whole and not padded:  # two tiles that overlap: see `RegisterTile`
            vectors = (vectors + 1) // 2
            tile = fitted(rows, vectors)
        most = rows if row is None else _rows_in_cache(split, row, simplifier(split.loops, split.inner), target)
        if tile.rows > most:
            tile = fitted(most, vectors)
    else:
        tile = choose_window_tile(rows, vectors, target, windows, in_order=not scattered)
    if row is not None:
        tile = _bounded(r, row, tile, target.unrolled_updates)
    pieces = int(min(left, 1) if padded or again else left.bit_count())  # vectors of the tail, each of a power of two
    updates = max(1, int(prod(n for _, n in r.inner)))

    def ends_early(tile: Tile) -> bool:
        return ends_in_half and tile.rows >= 2 * target.latency

    def cycles_of(tile: Tile) -> float:
        # Python multiplies and divides floats by the `int` of a formula, whatever lengths that stands for.
        cycles = tile_cost(rows, vectors, tile, target, together, windows, prepared) / int(extent)
        cycles *= int(whole) + (0.5 if ends_early(tile) else pieces)
        return cycles + scattered * _store_cycles(split, n, row, tile, target, updates, cycles)

    if scattered and windows is None:
        tile = _tile_in_cache(split, n, row, tile, target, cycles_of)
    cycles = cycles_of(tile)
    shared_rows = tile.rows if shared else 1
    cycles += reads.apart * SHUFFLED_READ / target.loads / lanes / shared_rows
    cycles += reads.assembled * GATHERED_ELEMENT / shared_rows
    return TileChoice(n, lanes, row, tile, _reason(r, n, lanes, tile), cycles, shared, again, ends_early(tile))


class _VectorReads(NamedTuple):
    """The vectors that a step reads: those of memory, those of every second or third element, and those assembled from elements, of which
    narrow ones count twice, because they are widened."""

    far: int
    apart: int
    assembled: int


def _vector_reads(split: Reduction, inner: Var, target: VectorTarget, gathered: bool) -> _VectorReads | None:
    """The reads of vectors along a loop; None if an operand cannot be read so, or none moves along it."""
    simplify = simplifier(split.loops, split.inner)
    contiguous = apart = far = assembled = 0
    for e in operands(split):
        s = stride(simplify, e.source.offset(e.indices), inner)
        # A stride of 3 takes three loads: the elements must be near.
        if s not in (0, 1, 2) and not (s == 3 and e.source.scope == Scope.LOCAL):
            if not gathered or s is None:
                return None
            assembled += 1 if itemsize(e.dtype) >= 4 else 2
        contiguous += s != 0
        far += s != 0 and e.source.nbytes > target.l2_cache_bytes
        apart += s in (2, 3)
    return _VectorReads(far, apart, assembled) if contiguous else None


def _ends_in_half(extent: int, lanes: int, target: VectorTarget) -> bool:
    """True if half a vector remains behind whole ones, and takes half their time."""
    return is_known(extent) and extent > lanes and extent % lanes * 2 == lanes and target.halves_vectors


def has_whole_parts(r: Reduction) -> bool:
    """True for sums of floats whose terms are converted sums of products of bytes: these have registers of their own (`HoistFactors`)."""
    added = summand(r)
    if not is_float(r.acc.dtype) or added is None:
        return False
    converted = [e.value for e in product_factors(added) if isinstance(e, Cast) and e.value.dtype == "int32"]
    terms = [e.a if isinstance(e, Binary) and e.op == "+" else e for e in converted]
    return any(largest_product(e) for e in terms)


def operations_of_unpacking(r: Reduction, v: Var) -> int:
    """The operations of a step that make a vector along a loop of integers of at most 8 bits: conversions, shifts, products by scales."""
    added = summand(r)
    if not is_float(r.acc.dtype) or added is None:
        return 0
    factors = [f for f in product_factors(added) if any(depends(e, v) for e in post_order(f))]
    nodes = {e for f in factors for e in _outside_indices(f)}
    is_packed = any(isinstance(e, Load) and is_int(e.dtype) and itemsize(e.dtype) == 1 for e in nodes)
    return sum(isinstance(e, Binary | Cast) for e in nodes) + len(factors) - 1 if is_packed else 0


def _outside_indices(e: Expr) -> set[Expr]:
    """The nodes of an expression, without those of indices."""
    nodes: set[Expr] = set()
    stack = [e]
    while stack:
        x = stack.pop()
        if x not in nodes:
            nodes.add(x)
            stack += [] if isinstance(x, Load) else children(x)
    return nodes


def _rows_in_cache(r: Reduction, row: int, simplify: Simplifier, target: VectorTarget) -> int:
    """The number of rows that fit in the L1 cache with one line each (rows at power-of-two strides share sets)."""
    v, rows = r.loops[row]
    ways = max(1, target.l1_cache_bytes // CACHE_WAY)
    most = rows
    for e in operands(r):
        place = e.source.offset(e.indices)
        along = stride(simplify, place, v)
        if along and any(stride(simplify, place, k) == 1 and n != 1 for k, n in r.inner):
            apart = gcd(abs(along) * itemsize(e.dtype), CACHE_WAY)
            most = min(most, ways * CACHE_WAY // max(apart, CACHE_LINE))
    return most


def _window_reads(r: Reduction, vector: int, row: int, lanes: int, target: VectorTarget) -> WindowReads:
    """The reads of tiles whose rows share neighbouring elements of the data, if anything: those of the windows along the rows."""
    (v, _), (x, _) = r.loops[vector], r.loops[row]
    extents = dict(r.inner)
    window = next((w for w in r.windows if w.result is x), None)
    taps, step = (extents[window.tap], -(-window.stride // window.dilation)) if window is not None else (1, 1)
    data = [e for e in operands(r) if moves(e, x)]
    fixed = [e for e in operands(r) if not moves(e, x)]
    width = max((lanes * itemsize(e.dtype) for e in data), default=CACHE_LINE)
    far = any(e.source.nbytes > SECOND_CACHE_SHARE * target.l2_cache_bytes for e in data)
    return WindowReads(
        taps,
        step,
        prod(extents.values()),
        sum(moves(e, v) for e in fixed),
        sum(not moves(e, v) for e in fixed),
        _block(r, v) // lanes,
        max(1, CACHE_LINE // width),
        prod(w.stride for w in r.windows if w.result is not None) if far else 0,
    )


@estimate
def rows_together(r: Reduction, target: VectorTarget) -> int:
    """The rows of results that an instruction computes: more than one for products of matrices of long words."""
    return target.product_rows if _has_long_words(r) else 1


@estimate
def sums_long_words(r: Reduction, target: VectorTarget) -> bool:
    """True if an instruction adds several products of contiguous long words to a single sum."""
    return target.summed_products > 1 and _has_long_words(r)


def _has_long_words(r: Reduction) -> bool:
    return any(isinstance(e, Call) and e.name in LONG_DOTS for e in post_order(r.update))


def _is_scattered(r: Reduction, n: int, lanes: int) -> bool:
    """True if vectors along a loop are stored element by element."""
    return _scattered(*_split(r, n, lanes)) > 0


def _scattered(split: Reduction, inner: Var) -> int:
    """The number of stores that are not contiguous along the last loop."""
    simplify = simplifier(split.loops, split.inner)
    return sum(1 for s in split.stores if stride(simplify, s.buffer.offset(s.indices), inner) != 1)


def _store_cycles(
    split: Reduction, n: int, row: int | None, tile: Tile, target: VectorTarget, updates: int, cycles: float
) -> float:
    """Cycles to store a scattered result, for each of its updates; lines are fetched while the next tile is computed, in `cycles`."""
    return max(GATHERED_ELEMENT / updates, _fetch_cycles(split, n, row, tile, target) / updates - cycles)


def _tile_in_cache(
    split: Reduction, n: int, row: int | None, tile: Tile, target: VectorTarget, cycles_of: Callable[[Tile], float]
) -> Tile:
    """The tile, or a smaller one of fewer cycles if the lines of its results leave the L1 cache before they are full."""
    if not _fetch_cycles(split, n, row, tile, target):
        return tile
    return min((Tile(k, m) for k in range(tile.rows, 0, -1) for m in range(tile.vectors, 0, -1)), key=cycles_of)


def _fetch_cycles(split: Reduction, n: int, row: int | None, tile: Tile, target: VectorTarget) -> float:
    """Cycles to fetch the lines of scattered results, for each of these; 0 if lines stay in the L1 cache until they are full.

    Otherwise a line is fetched for each visit of a tile, which stores as many of its elements as neighbouring rows have.
    """
    simplify = simplifier(split.loops, split.inner)
    cycles = 0.0
    for s in split.stores:
        place, size = s.buffer.offset(s.indices), itemsize(s.buffer.dtype)
        rows = 1 if row is None or stride(simplify, place, split.loops[row][0]) != 1 else tile.rows
        if s.buffer.nbytes > target.l1_cache_bytes:
            visit = _visit_of_line(split, n, row, tile, place, size, target)
            cycles = max(cycles, visit / min(rows, CACHE_LINE // size))
    return cycles


def _visit_of_line(
    split: Reduction, n: int, row: int | None, tile: Tile, place: Expr, size: int, target: VectorTarget
) -> float:
    """Cycles to fetch a line of results for a tile; 0 if it is in the L1 cache until loops inside of that over tiles have filled it.

    Args:
        n: the loop over vectors.
        place: the offset of a result, and `size` the bytes of one.
    """
    simplify = simplifier(split.loops, split.inner)
    lane, lanes = split.loops[-1]
    apart = stride(simplify, place, lane)
    rows_apart = 0 if row is None else stride(simplify, place, split.loops[row][0])
    if apart is None or rows_apart is None:
        return SCATTERED_STORE
    places = [
        (r * bound(rows_apart) + k * bound(apart)) * size for r in range(tile.rows) for k in range(tile.vectors * lanes)
    ]
    sets = Counter(line % (CACHE_WAY // CACHE_LINE) for line in {o // CACHE_LINE for o in places})
    ways = max(1, target.l1_cache_bytes // CACHE_WAY)
    if max(sets.values()) > ways:
        return CROWDED_STORE
    outside = [x for k, x in enumerate(split.loops[:-1]) if k not in (n, row)]
    together = split.loops[row][1] if row is not None and rows_apart == 1 else 1
    filled = together * prod(extent for _, extent in contiguous_loops(outside, place, simplify, together))
    if bound(filled) * size < min(CACHE_LINE, abs(bound(apart)) * size):
        return SCATTERED_STORE
    is_near = max(sets.values()) <= ways // 2  # what is read beside the results takes as many
    return 0.0 if is_near else SCATTERED_STORE


def contiguous_loops(loops: Sequence[Loop], place: Expr, simplify: Simplifier, step: int = 1) -> list[Loop]:
    """The last ones of `loops`, innermost first, over which `place` takes contiguous values, beginning with blocks of `step`."""
    result: list[Loop] = []
    for v, extent in reversed(loops):
        if stride(simplify, place, v) != step:
            break
        result.append((v, extent))
        step = step * extent
    return result


def _split(r: Reduction, n: int, lanes: int) -> tuple[Reduction, Var]:
    """The reduction with a loop over vectors' lanes as its last loop, and that loop's variable."""
    v, extent = r.loops[n]
    outer, inner = Var(v.name), Var(f"{v.name}v")
    loops = [*r.loops[:n], (outer, extent // lanes), *r.loops[n + 1 :], (inner, lanes)]
    return substituted(r, {v: outer * lanes + inner}, tuple(loops)), inner


@estimate
def other_tiles(r: Reduction, chosen: TileChoice, target: VectorTarget) -> Iterator[TileChoice]:
    """The choice, then the same vector axis with other tiles that the registers hold, nearest in size first."""
    yield chosen
    rows = r.loops[chosen.row][1] if chosen.row is not None else 1
    vectors = max(1, r.loops[chosen.vector][1] // chosen.lanes)
    block = _block(r, r.loops[chosen.vector][0]) // chosen.lanes
    together, windows = rows_together(r, target), None
    prepared = operations_of_unpacking(r, r.loops[chosen.vector][0])
    if chosen.row is not None and not chosen.shared:
        windows = _window_reads(r, chosen.vector, chosen.row, chosen.lanes, target)
    tiles = [
        Tile(a, b)
        for a in range(1, min(rows, TALLEST_TILE) + 1)
        for b in range(1, min(vectors, WIDEST_TILE) + 1)
        if a * b + b <= target.registers and not (block and block % b)
    ]
    seen = {chosen.tile}
    for tile in sorted(tiles, key=lambda t: (abs(t.points - chosen.tile.points), t.rows)):
        fitted = _bounded(r, chosen.row, tile, target.unrolled_updates) if chosen.row is not None else tile
        if fitted not in seen:
            seen.add(fitted)
            new, old = (tile_cost(rows, vectors, t, target, together, windows, prepared) for t in (fitted, chosen.tile))
            cost = chosen.cost + (new - old) / chosen.lanes
            reason = _reason(r, chosen.vector, chosen.lanes, fitted)
            yield replace(chosen, tile=fitted, reason=reason, cost=cost)


def _reason(r: Reduction, n: int, lanes: int, tile: Tile) -> str:
    v, extent = r.loops[n]
    return f"vector axis {v.name} of {extent}, tile {tile.rows} x {tile.vectors} x {lanes}"


@estimate
def is_padded(r: Reduction, v: Var, extent: int) -> bool:
    """True if every operand that depends on `v` has `extent` elements along it, more than there are results."""
    has_guard = False
    simplify = Simplifier({x: (0, (extent if x is v else n) - 1) for x, n in (*r.loops, *r.inner)})
    for e in operands(r):
        for axis, i in enumerate(e.indices):
            if depends(i, v):
                low, high = simplify.range(i)
                if not stride(simplify, i, v) or low < 0 or high >= e.source.shape[axis]:
                    return False
                has_guard = True
    return has_guard


def _bounded(r: Reduction, row: int, tile: Tile, longest: int) -> Tile:
    """The tile, with fewer rows if the loops that its guards unroll would give it more updates than `longest`."""
    steps = 1
    for _, m in decided(r, row, []):
        steps *= m
    return Tile(max(1, min(tile.rows, longest // (steps * tile.vectors))), tile.vectors)


@estimate
def decided(r: Reduction, row: int | None, inner: list[Loop]) -> list[Loop]:
    """The inner loops that guards connect with the rows of the tile. `inner`: the loops to choose from (default: those of the
    reduction)."""
    if row is None:
        return []
    x = r.loops[row][0]
    together = [g for g in r.guards if depends(g, x)]
    return [loop for (k, _), loop in zip(r.inner, inner or r.inner) if any(depends(g, k) for g in together)]


def _block(r: Reduction, v: Var) -> int:
    """The number of contiguous elements along `v` in a blocked operand; 0 without one."""
    sizes = [0]
    for e in operands(r):
        layout = e.source.layout
        if layout is not None and e.indices[layout[-1][0]] is v:
            sizes.append(layout[-1][2])
    return max(sizes)


def _uniform_guards(e: Expr, inner: Var) -> bool:
    """True if no branch of an `if_then_else` depends on the lane."""
    return not any(
        isinstance(x, Select) and x.lazy and any(y is inner for y in post_order(x.cond)) for x in post_order(e)
    )


def _row(r: Reduction, vector: int, outer: Var) -> tuple[int | None, bool]:
    """The loop whose steps share the vector operand best, and whether they share it.

    Some operand depends on the vector axis and not on this loop. The innermost such loop comes first; without one, the result is
    any loop, whose steps share nothing.
    """
    simplify = simplifier(r.loops, r.inner)
    lane = r.loops[-1][0]
    positions = offsets(r)
    candidates = [n for n in range(len(r.loops) - 1) if n != vector and r.loops[n][1] > 1]
    for n in reversed(candidates):
        x = r.loops[n][0]
        moved = [coefficients(simplify, p, (lane, x)) for p in positions]
        if any(a and b == 0 for a, b in moved):
            return n, not any(a and b for a, b in moved)
    if candidates:
        return candidates[-1], False
    return None, True
