"""Reductions with a register tile of results: convolutions, matrix products, pooling, sums over outer axes.

    for spatial…:                      for blocks…:
      acc = 0                            acc[a][b][lanes] = 0                   (registers)
      for k…: acc += x[…] * w[…]   ⇒     for k…: acc[a][b][:] += x[a…] * w[b…]  (unrolled, vectors)
      out[…] = f(acc)                    out[…] = f(acc[a][b][:])

The vector axis is a spatial loop along which every operand is contiguous or constant; the tile's rows are another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from ....symbolic_int import SymbolicInt, Undecided, bound, is_known
from ....tir.dtypes import itemsize
from ....tir.expr import Binary, Var, post_order
from ....tir.memory import CACHE_LINE
from ....tir.simplify import Simplifier
from ....tir.stmt import UNROLLED, Stmt, Store
from ....tir.vector_target import VectorTarget
from ...core.affine import coefficients, depends, offsets, simplifier, stride
from ...core.block import Block
from ...core.forms import Reduction
from ...core.guards import free_range
from ...core.nest import is_decided_in_tile, lower_all, open_guards
from ...core.tile_stores import is_transposed
from ...cost.register_tiles import tail_sizes
from ...cost.tile_choice import TileChoice, contiguous_loops, decided, is_padded, other_tiles
from ...primitives import (
    cache_write,
    drop_unit_loops,
    loop_partition,
    parallel,
    part,
    reorder,
    sliding_window,
    split,
    store_tail,
    store_transposed,
    unroll,
    vectorize,
)
from ...windows.sliding import WINDOW, choose_sliding
from ..base import Candidate, Stage, Strategy, strategy
from .cold_operands import prefetch_next
from .row_bands import RowSegment, in_bands, in_open_bands

Segment = tuple[int, int, int, int]
"""A part of the vector axis: its first element, the number of tiles, the vectors of a tile, the lanes of a vector."""


@strategy("register_tile")
class RegisterTile(Strategy):
    """A register tile of results, with vectors along an axis of results."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.tile is None:
            return None
        return _offer(stage.tile)

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        if stage.reduction is not None and stage.tile is not None:
            yield from (_offer(p) for p in other_tiles(stage.reduction, stage.tile, stage.target))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        block = Block.of(stage.reduction)
        return lower_all(tile_reduction(block, candidate.plan, stage.target, serial=stage.serial), stage.target)


def _offer(p: TileChoice) -> Candidate:
    label = f"axis {p.vector}, tile {p.tile.rows} x {p.tile.vectors} x {p.lanes}"
    return Candidate(p.cost, p.reason, p, label)


Finish = Callable[[Block[Reduction]], Block[Reduction]]
"""The last rewrite of a part of a reduction in tiles."""


def tile_reduction(
    block: Block[Reduction], p: TileChoice, target: VectorTarget, serial: bool = False, finish: Finish | None = None
) -> list[Block[Reduction]]:
    """A reduction in the tiles of a plan. Threads share it if it is large enough, unless it is `serial`.

    `finish` rewrites the part with the most tiles, in place of the prefetches of columns that come from memory.
    """
    work = block.form.work
    segments = _vector_segments(block.form, p)
    row_segments = in_bands(block.form, p, _row_segments(block.form, p), segments[0][1], target)
    band = in_open_bands(block, p, row_segments, segments[0][1], target)
    if band is not None:
        block, row_segments = band, _row_segments(band.form, p)
    r = block.form
    v = r.loops[p.vector][0]
    parts: list[Block[Reduction]] = []
    together = [len(row_segments) > 1 and tiles != 1 for _, tiles, _, _ in segments]
    count = sum(1 if t else len(row_segments) for t in together)

    def columns(segment: Segment) -> Block[Reduction]:
        first, tiles, vectors, lanes = segment
        (b,) = loop_partition(block, v, [(first, first + tiles * vectors * lanes)])
        return split(b, b.over(v)[0], [tiles, vectors, lanes], _names(v, "otv"))

    most = max(row_segments, key=lambda x: bound(x.rows))
    largest = max(product(segments, row_segments), key=lambda x: bound(x[0][1] * x[1].rows))

    def tiled(b: Block[Reduction], segment: Segment, rows: RowSegment) -> Block[Reduction]:
        b = _tile(b, p, segment, rows)
        if finish is None:
            b = prefetch_next(b, v, target) if rows is most else b
        else:
            b = finish(b) if (segment, rows) == largest else b
        return parallel(b, b.outside[0][0]) if b.outside and not serial and work >= target.parallel_updates else b

    for segment, shared in zip(segments, together):
        if shared:  # all rows in one loop over the columns, which reads the vector operand once
            with part(count):
                b = columns(segment)
                for rows in row_segments:
                    with part(len(row_segments)):
                        parts.append(tiled(b, segment, rows))
            continue
        for rows in row_segments:
            with part(count):
                parts.append(tiled(columns(segment), segment, rows))
    return parts


def _tile(b: Block[Reduction], p: TileChoice, segment: Segment, rows: RowSegment) -> Block[Reduction]:
    """The tiles of one part of the rows; the loop over columns is split already."""
    r = b.form
    v, x = r.loops[p.vector][0], r.loops[p.row][0] if p.row is not None else None
    first, tiles, vectors, lanes = segment
    within: tuple[Var, ...] = ()
    around: tuple[Var, ...] = ()
    if x is not None:
        (b,) = loop_partition(b, x, [(rows.first, rows.end)])
        names = _names(x, "ot")
        if rows.bands != 1:
            b = split(b, b.over(x)[0], [rows.bands, rows.count, rows.steps], ["band", *names])
            around = b.over(x)[:1]
        else:
            b = split(b, b.over(x)[0], [rows.count, rows.steps], names)
        within = b.over(x)[-1:]
    tile = (*within, *b.over(v)[1:])
    outer = [b.over(axis)[len(around) if axis is x else 0] for axis in _order(r, p)]
    b = reorder(b, [*around, *outer, *tile])
    b = drop_unit_loops(cache_write(b, tile[0]))
    for loop in tile[:-1]:
        b = unroll(b, loop) if b.has(loop) else b
    b = vectorize(b, tile[-1]) if lanes > 1 else b
    b = _decide_shifts(_share_reads(_decide_guards(b, r, p), r, p), r)
    if is_transposed([b.seen().store(s) for s in r.stores], tile[-1], b.tile[:-1], b.seen().simplify):
        b = store_transposed(b)
    if tiles == 1 and r.loops[p.vector][1] - first < vectors * lanes:
        b = store_tail(b, r.loops[p.vector][1] - first)
    return b


def _names(v: Var, suffixes: str) -> list[str]:
    """Names of the loops into which a loop is split: over blocks, over the tile's steps, over a vector's elements."""
    return [f"{v.name}_{s}" for s in suffixes]


def _vector_segments(r: Reduction, p: TileChoice) -> list[Segment]:
    """The vector axis in tiles of full vectors, then a tile for the remainder.

    That tile has full vectors too: it overlaps results that are computed twice, or padding. If neither is possible, or half a vector
    remains and takes half the time, narrower vectors follow.
    """
    v, extent = r.loops[p.vector]
    if isinstance(extent, SymbolicInt):
        return _open_vectors(extent, p)
    whole, left = divmod(extent, p.lanes)
    tiles = whole // p.tile.vectors
    segments = [(0, tiles, p.tile.vectors, p.lanes)] if tiles else []
    done = tiles * p.tile.vectors
    needed = whole - done + (left > 0)  # vectors of the last tile
    if not needed:
        return segments
    if left and p.again and whole and not p.is_half_last:
        # Fewer vectors than a tile: two overlapping tiles, if a single one would begin before the axis does.
        first = needed // 2 if needed > whole else 0
        segments += [(0, 1, first, p.lanes)] if first else []
        last = needed - first
        return [*segments, (extent - last * p.lanes, 1, last, p.lanes)]
    if left and left & (left - 1) and is_padded(r, v, (whole + 1) * p.lanes):
        return [*segments, (done * p.lanes, 1, needed, p.lanes)]
    if whole - done:
        segments.append((done * p.lanes, 1, whole - done, p.lanes))
    first_column = whole * p.lanes
    while first_column < extent:
        width = 1 << ((extent - first_column).bit_length() - 1)
        segments.append((first_column, 1, 1, width))
        first_column += width
    return segments


def _row_segments(r: Reduction, p: TileChoice) -> list[RowSegment]:
    """The row loop in parts whose guards always hold, and parts of a single tile."""
    if p.row is None:
        return [RowSegment(0, 1, 1)]
    x, n = r.loops[p.row]
    size = min(p.tile.rows, bound(n))
    first, last = free_range(simplifier(r.loops, r.inner), list(r.guards), x, n)
    if isinstance(n, SymbolicInt):
        if first != 0 or last != n - 1:
            raise Undecided(f"conditions on {x.name}, which has {n} steps")
        return _open_rows(n, size)
    segments: list[RowSegment] = []
    row = 0
    while row < n:
        count, steps = 1, min(size, n - row)
        if row >= first and row + steps - 1 <= last:
            count = max(1, (last + 1 - row) // steps)
        segments.append(RowSegment(row, count, steps))
        row += count * steps
    return segments


def _open_vectors(extent: SymbolicInt, p: TileChoice) -> list[Segment]:
    """Columns of which only the run knows the number: full tiles, narrower and narrower ones, and vectors of a fourth of the lanes: with
    half of them, there would be more code than steps saved."""
    segments: list[Segment] = []
    first, vectors, lanes = 0, p.tile.vectors, p.lanes
    while lanes:
        tiles = (extent - first) // (vectors * lanes)
        if tiles != 0:
            segments.append((first, tiles, vectors, lanes))
        first += tiles * vectors * lanes
        vectors, lanes = (vectors // 2, lanes) if vectors > 1 else (1, max(lanes // 4, min(lanes - 1, 1)))
    return segments


def _open_rows(n: SymbolicInt, size: int) -> list[RowSegment]:
    """Rows of which only the run knows the number: in tiles of that size, and the remaining ones in smaller ones."""
    segments: list[RowSegment] = []
    first = 0
    for rows in (size, *tail_sizes(size)):
        count = (n - first) // rows
        if count != 0:
            segments.append(RowSegment(first, count, rows))
        first += count * rows
    return segments


def _order(r: Reduction, p: TileChoice) -> list[Var]:
    """The axes of results, outermost first: those that the vector operand depends on are outside, so that its part stays in a
    cache. Axes of contiguous results are innermost if vectors are stored element by element, so that lines are filled while they are in a cache."""
    simplify = simplifier(r.loops, r.inner)
    v = r.loops[p.vector][0]
    filling = {x for s in r.stores for x in _filling_loops(r, p, s, simplify)}
    positions = offsets(r)
    vector_places = [i for i in positions if coefficients(simplify, i, (v,))[0] != 0]
    moves = {x: any(coefficients(simplify, i, (x,))[0] != 0 for i in vector_places) for x, _ in r.loops}
    return sorted(moves, key=lambda x: (x in filling, not moves[x]))


def _filling_loops(r: Reduction, p: TileChoice, s: Store, simplify: Simplifier) -> list[Var]:
    """The loops over contiguous results that fill a line between two lanes of a vector."""
    place = s.buffer.offset(s.indices)
    if stride(simplify, place, r.loops[p.vector][0]) == 1:
        return []
    others = [x for n, x in enumerate(r.loops) if n not in (p.vector, p.row)]
    filling = contiguous_loops(others, place, simplify)
    nbytes = bound(prod(extent for _, extent in filling)) * itemsize(s.buffer.dtype)
    return [v for v, _ in filling] if nbytes <= 4 * CACHE_LINE else []


def _decide_guards(b: Block[Reduction], r: Reduction, p: TileChoice) -> Block[Reduction]:
    """The block with the loops unrolled that guards connect with the rows of the tile, so that each guard is decided for each
    update."""
    if open_guards(b):
        for k, extent in decided(r, p.row, []):
            b = unroll(b, k) if extent != 1 else b
    return b


def _decide_shifts(b: Block[Reduction], r: Reduction) -> Block[Reduction]:
    """The block with its innermost loop unrolled if that decides by how many bits a word is shifted, as the one over the numbers in a byte."""
    if not r.inner:
        return b
    k, extent = r.inner[-1]
    shifts = [e.b for e in post_order(r.update) if isinstance(e, Binary) and e.op in ("<<", ">>")]
    if any(depends(e, k) for e in shifts) and is_known(extent) and 1 < extent <= WINDOW and b.kind(k) != UNROLLED:
        return unroll(b, k)
    return b


def _share_reads(b: Block[Reduction], r: Reduction, p: TileChoice) -> Block[Reduction]:
    """The block with a sliding window over the rows of the tile, or with an unrolled one, if rows share nothing else."""
    guards = open_guards(b)
    written = {k for k, _ in b.inner if b.kind(k) == UNROLLED}
    moving = [{k for k, _ in b.inner if depends(g, k)} for g in guards]
    if p.shared or written or any(is_decided_in_tile(b, g) or len(m) > 1 for g, m in zip(guards, moving)):
        return b
    free = [x for x in b.inner if not any(x[0] in m for m in moving)]
    view = b.seen()
    rows = b.tile[0]
    if p.row is not None and rows[1] > 1 and b.tile[-1][1] > 1:
        step = Store(view.acc, view.place, view(r.update))
        window = choose_sliding(step, rows, free, view.simplify)
        if window is not None:
            for k, _ in window.columns(rows, free, view.simplify):
                b = unroll(b, k)
            return sliding_window(b, window.loop[0])
    if not r.inner:  # the sum has a single term: all axes of the reduction have extent 1
        return b
    last, extent = r.inner[-1]
    if is_known(extent) and 1 < extent <= WINDOW and any(last is k for k, _ in free):
        b = unroll(b, last)
    return b
