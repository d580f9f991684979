"""Sums so long that the weights of one tile exceed a cache, computed for some steps at a time and many rows.

    for panel: for rows:                         for panel:
      acc = 0                                      part[…] = 0
      for k: acc += x[rows, k] * w[panel, k]  ⇒    for blocks of k: for rows: part[rows] += sum of x * w over the block
      out[rows] = f(acc)                           for rows: out[rows] = f(part[rows] + sum over the last block)

All rows read a block of weights while it is in the L1 cache, and prefetch the next one; partial sums are in an array between the
blocks (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). The order of summation stays the same,
and so does every bit of the results.

If rows are contiguous, a block reads short pieces of them, far apart. That costs more than streaming weights from the L2 cache.
So the sums of such rows are only divided if the weights exceed that cache.

The sum of a single row reads each weight once. If its tile reads a short piece of every row of a matrix from memory, each on a page of its
own, neither the prefetcher nor the TLB can follow: blocks of a few steps read whole pages of as many rows instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ....symbolic_int import is_known
from ....tir import dtypes
from ....tir.expr import Var
from ....tir.stmt import Stmt
from ....tir.vector_target import VectorTarget
from ...core.affine import coefficients, depends, moves, offsets, operands, simplifier
from ...core.block import Block
from ...core.forms import Map, Reduction
from ...core.nest import lower_all
from ...core.products import sum_of_products
from ...cost.machine import CACHE_WAY, GAIN, SECOND_CACHE_SHARE, TOGETHER
from ...cost.tile_choice import TileChoice, choose_register_tile
from ...primitives import block_reduction, compute_at, copy, parallel, prefetch, reorder, split, vectorize
from ..base import Candidate, Stage, Strategy, strategy
from .strategy import tile_reduction


@dataclass(frozen=True)
class SumBlocks:
    """The division of a sum.

    Attributes:
        vector, columns: the vector axis of results, and the number of its elements in a panel.
        band, rows: the outermost other axis of results, None if there is a single row, and the number of its steps in a band.
        summed, steps: the outermost axis of the sum, and the number of its steps in a block.
    """

    vector: int
    columns: int
    band: int | None
    rows: int
    summed: int
    steps: int


@strategy("blocked_sum")
class BlockedSum(Strategy):
    """A register tile of results, for some steps of a long sum at a time."""

    def choose(self, stage: Stage) -> Candidate | None:
        r, p = stage.reduction, stage.tile
        if r is None or p is None or stage.serial:
            return None
        division = divide_sum(r, p, stage.target)
        return _offer(r, p, division) if division is not None else None

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        offer = self.choose(stage)
        if offer is None or stage.reduction is None or stage.tile is None:
            return
        yield offer
        for other in _other_divisions(stage.reduction, offer.plan, stage.target):
            yield _offer(stage.reduction, stage.tile, other)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        return lower_all(_blocked(stage.reduction, candidate.plan, stage.target), stage.target)


def _offer(r: Reduction, p: TileChoice, s: SumBlocks) -> Candidate:
    v, n = r.inner[s.summed]
    reason = f"{p.reason}, {s.steps} of {n} steps of {v.name} at a time"
    label = f"axis {p.vector}, {s.columns} columns, {s.rows} rows, {s.steps} of {n} steps"
    return Candidate(GAIN * p.cost, reason, s, label)


def _other_divisions(r: Reduction, s: SumBlocks, target: VectorTarget) -> Iterator[SumBlocks]:
    """Blocks of half and of twice the steps, and likewise of the rows, as long as the partial sums fit on the stack."""
    steps, rows = r.inner[s.summed][1], r.loops[s.band][1] if s.band is not None else 1
    along = math.prod(n for loop_number, (_, n) in enumerate(r.loops) if loop_number not in (s.vector, s.band))
    most = target.scratch_bytes // (dtypes.itemsize(r.acc.dtype) * s.columns * along)
    for n in (_largest_divisor(steps, s.steps // 2, 1), _largest_divisor(steps, 2 * s.steps, 1)):
        if n and n not in (s.steps, steps):
            yield replace(s, steps=n)
    for n in (_largest_divisor(rows, s.rows // 2, 1), _largest_divisor(rows, min(2 * s.rows, most), 1)):
        if n and n != s.rows:
            yield replace(s, rows=n)


def divide_sum(r: Reduction, p: TileChoice, target: VectorTarget) -> SumBlocks | None:
    """The division of a sum whose weights for one tile exceed a cache; None if a division does not pay."""
    if not all(is_known(n) for _, n in (*r.loops, *r.inner)):
        return None
    v, extent = r.loops[p.vector]
    columns = p.tile.vectors * p.lanes
    others = [n for n, (_, m) in enumerate(r.loops) if n != p.vector and m != 1]
    summed = next((n for n, (_, m) in enumerate(r.inner) if m > 1), None)
    if not _is_product(r, v) or summed is None or p.lanes != target.lanes_of(r.acc.dtype):
        return None
    if not others:
        return _divide_stream(r, p, summed, target)
    if extent % columns:
        return None
    size = dtypes.itemsize(r.acc.dtype) * columns
    work = math.prod(m for _, m in r.inner)
    whole = _has_whole_rows(r, r.loops[p.row if p.row is not None else others[0]][0], r.inner[summed][0])
    if work * size <= (SECOND_CACHE_SHARE * target.l2_cache_bytes if whole else 2 * target.l1_cache_bytes):
        return None
    each = work // r.inner[summed][1] * size
    steps = _largest_divisor(r.inner[summed][1], max(1, target.l1_cache_bytes // 2 // each), 1)
    along = math.prod(r.loops[n][1] for n in others[1:])
    multiple = p.tile.rows if others[0] == p.row else 1
    rows = _largest_divisor(r.loops[others[0]][1], target.scratch_bytes // size // along, multiple)
    if not rows or each > 2 * target.l1_cache_bytes or steps == r.inner[summed][1] or along * rows < 2 * p.tile.rows:
        return None
    parts = extent // columns * (r.loops[others[0]][1] // rows)
    if parts % 2 and 1 < parts < target.joined_parts and p.tile.vectors % 2 == 0:
        # Threads cannot share so few parts evenly: panels of half the width, and tiles with more rows, cost one thread next to nothing.
        columns //= 2
        most = min(target.l1_cache_bytes // each, r.inner[summed][1] - 1)
        steps = _largest_divisor(r.inner[summed][1], max(1, most), 1)
    return SumBlocks(p.vector, columns, others[0], rows, summed, steps)


def _divide_stream(r: Reduction, p: TileChoice, summed: int, target: VectorTarget) -> SumBlocks | None:
    """The division of a sum for a single row of results, whose tile would read a piece of a page in every step; None if it does not pay."""
    (v, extent), (k, steps) = r.loops[p.vector], r.inner[summed]
    simplify = simplifier(r.loops, r.inner)
    (weights,) = (e for e in operands(r) if moves(e, v))
    apart, along = coefficients(simplify, weights.source.offset(weights.indices), (k, v))
    size = dtypes.itemsize(weights.dtype)
    if (
        extent % p.lanes
        or along != 1
        or apart is None
        or abs(apart) * size < CACHE_WAY
        or weights.source.nbytes < target.l2_cache_bytes
    ):
        return None
    columns = p.lanes * _largest_divisor(extent // p.lanes, CACHE_WAY // (size * p.lanes), p.tile.vectors)
    few = _largest_divisor(steps, TOGETHER, 1)
    if columns < 2 * p.tile.vectors * p.lanes or few == 1 or few == steps:
        return None
    return SumBlocks(p.vector, columns, None, 1, summed, few)


def _has_whole_rows(r: Reduction, row: Var, summed: Var) -> bool:
    """True if an operand has contiguous rows along the sum, like a row-major matrix; images in blocks of channels have none."""
    simplify = simplifier(r.loops, r.inner)
    positions = offsets(r)
    steps = [coefficients(simplify, x, (row, summed)) for x in positions]
    return any(a and b and a > b for a, b in steps)


def _largest_divisor(n: int, most: int, multiple: int) -> int:
    """The largest divisor of `n` up to `most`; one that `multiple` divides, if it is at least half as large; 0 for none."""
    divisors = [d for d in range(1, min(n, most) + 1) if n % d == 0]
    whole = [d for d in divisors if d % multiple == 0 and 2 * d >= divisors[-1]]
    return max(whole or divisors or [0])


def _is_product(r: Reduction, v: Var) -> bool:
    """True for a sum of products of two operands, exactly one of which depends on `v`, without guards and conversions."""
    product = sum_of_products(r)
    if product is None or len(operands(r)) != 2:
        return False
    read = (product.a, product.b)
    return all(e.dtype == r.acc.dtype for e in read) and sum(moves(e, v) for e in read) == 1


def _blocked(r: Reduction, s: SumBlocks, target: VectorTarget) -> list[Block[Reduction]]:
    """The last block of the sum in tiles, inside of the loops of the other blocks."""
    (v, columns), (k, _) = r.loops[s.vector], r.inner[s.summed]
    b, divided = Block.of(r), [v]
    if columns > s.columns:
        b = split(b, v, [columns // s.columns, s.columns], ["panel", v.name])
    if s.band is not None:
        x, rows = r.loops[s.band]
        divided.append(x)
        b = split(b, x, [rows // s.rows, s.rows], ["band", x.name]) if rows > s.rows else b
    around = {loop: None for axis in divided for loop in b.over(axis)[:-1]}
    b = reorder(b, [*around, *(y for y, _ in b.loops if y not in around)])
    if r.work >= target.parallel_updates:
        for loop in around:
            b = parallel(b, loop)
    b = block_reduction(b, k, s.steps, along=b.over(v)[-1])
    b = compute_at(b, "part", *[*around][-1:])
    shares = s.band is not None  # otherwise each weight is read once, and prefetches would be as many again
    for name, (fill,) in b.around[-1].fills:
        with copy(name):
            whole = _tiled(fill, target, "block", shares) if name == "part_update" else [_cleared(fill, target)]
            b = b.with_fill(name, whole)
    return _tiled(b, target, "panel", shares)


def _cleared(b: Block[Map], target: VectorTarget) -> Block[Map]:
    """The array set to the initial value of the sums, in vectors."""
    v, columns = b.loops[-1]
    lanes = target.lanes_of(b.form.stores[0].buffer.dtype)
    b = split(b, v, [columns // lanes, lanes], ["group", "v"])
    return vectorize(b, b.over(v)[-1])


def _tiled(b: Block[Reduction], target: VectorTarget, ahead: str, shares: bool) -> list[Block[Reduction]]:
    """The sums over a block in tiles. If rows share weights, with prefetches of the next ones: those of the next block, or after the last
    one of the next panel."""
    choice = choose_register_tile(b.form, target)
    assert choice is not None, "the whole sum has a tile along that axis"
    axis = b.form.loops[choice.vector][0]

    def next_weights(part: Block[Reduction]) -> Block[Reduction]:
        loop = next((v for level in part.around for v, _, _ in level.loops if v.name == ahead), None)
        if not shares or loop is None or not part.tile or part.window is not None:
            return part
        (weights,) = (e for e in operands(part.form) if moves(e, axis))
        view = part.seen()
        if not any(depends(view(i), loop) for i in weights.indices):
            return part  # the tile is along another axis than the panels: its weights are those of each panel
        rows = [x for x in part.outside if not any(depends(view(i), x[0]) for i in weights.indices)]
        shared: dict[str, Any] = {"over": max(rows, key=lambda x: x[1])[0]} if rows else {}
        return prefetch(part, weights, ahead=ahead, **shared)

    return tile_reduction(b, choice, target, serial=True, finish=next_weights)
