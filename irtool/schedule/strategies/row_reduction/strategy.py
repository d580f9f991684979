"""Reductions along the contiguous axis: sums, means and extremes of rows.

    for i: acc = 0; for k: acc += x[i, k]      ⇒      for i: acc[lanes] = 0; for k_o: acc[:] += x[i, k_o*lanes + :];
                                                             combined over the lanes; the remaining elements in one more vector

Several vectors are accumulated at once, so that one addition need not wait for the one before. The lanes of several short rows
are combined at once, in vectors of results.
"""

from __future__ import annotations

import math

from ....symbolic_int import bound, is_known
from ....tir import dtypes
from ....tir.expr import Var
from ....tir.stmt import Stmt
from ...core.affine import depends, factors, loads, simplifier, stride
from ...core.block import Block
from ...core.forms import Reduction
from ...core.nest import lower_all
from ...cost.machine import FOLD_STEPS, TOGETHER
from ...cost.row_choice import row_cycles, row_width
from ...primitives import loop_partition, parallel, part, rfactor, split
from ..base import Candidate, Stage, Strategy, strategy
from ..register_tile.strategy import RegisterTile


def is_preferred(stage: Stage) -> bool:
    """True if vectors along the summed axis are faster than a register tile, or no such tile exists."""
    rows = RowReduction().choose(stage)
    tile = RegisterTile().choose(stage)
    return rows is not None and (tile is None or rows.cost < tile.cost)


@strategy("row_reduction")
class RowReduction(Strategy):
    """Vectors of accumulators along the summed axis, several of them at once."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        row_axis = stage.row_axis
        if r is None or row_axis is None:
            return None
        cost = row_cycles(r, row_axis, stage.target)
        return Candidate(cost, f"vectors along the summed axis {r.inner[row_axis][0].name}", r.inner[row_axis])

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        r = stage.reduction
        assert r is not None
        v, extent = candidate.plan
        # Lanes of float16 are combined one by one: twice as many would take twice as long.
        lanes = row_width(extent, stage.target.lanes_of(r.acc.dtype))
        if len(r.inner) > 1 and extent % lanes == lanes // 2 >= 4 and bound(extent) < TOGETHER * lanes:
            lanes //= 2  # a partial vector in each of many rows costs more than half vectors do
        vectors = next(n for n in (stage.target.latency, 2, 1) if bound(extent) // lanes >= n)
        shared = r.loops and r.work >= stage.target.parallel_updates and not stage.serial
        if not _are_side_by_side(stage, r, lanes):
            b = rfactor(Block.of(r), v, lanes, vectors)
            return lower_all([parallel(b, b.loops[0][0]) if shared else b])
        i, count = r.loops[-1]
        whole = count // lanes
        last = count - lanes if stage.may_repeat_sums and is_known(count) else whole * lanes
        ranges = [(0, whole * lanes), (last, count)] if count % lanes != 0 else [(0, count)]
        parts = []
        for begin, end in ranges:
            with part(len(ranges)):
                (b,) = loop_partition(Block.of(r), i, [(begin, end)])
                (row,) = b.over(i)
                if (end - begin) % lanes != 0:
                    b = rfactor(b, v, lanes, vectors)
                else:
                    b = split(b, row, [(end - begin) // lanes, lanes])
                    together = _results_together(stage, r, i, lanes)
                    b = rfactor(b, v, lanes, vectors if together == 1 else 1, along=b.over(i)[-1], together=together)
                parts.append(parallel(b, b.loops[0][0]) if shared and b.loops[0][1] != 1 else b)
        return lower_all(parts)


def shares_operands(stage: Stage) -> bool:
    """True if rows of several results are summed in the same steps, which load their common operand once. `row_cycles` counts
    that load for each result."""
    r, row_axis = stage.reduction, stage.row_axis
    if r is None or row_axis is None or not r.loops:
        return False
    lanes = row_width(r.inner[row_axis][1], stage.target.lanes_of(r.acc.dtype))
    return _are_side_by_side(stage, r, lanes) and _is_product(r, r.loops[-1][0], lanes)


def _are_side_by_side(stage: Stage, r: Reduction, lanes: int) -> bool:
    """True if combining the lanes of several short rows at once pays: results are contiguous, and a multiple of the lanes."""
    if stage.rows or not r.loops or r.guards or dtypes.bits(r.acc.dtype) == 16:
        return False
    target = stage.target
    i, count = r.loops[-1]
    work = bound(math.prod(n for _, n in r.inner) // lanes)
    parts = target.least_parts if r.work >= target.parallel_updates and len(r.loops) == 1 else 1
    if bound(count) < lanes * parts or (work > FOLD_STEPS and _results_together(stage, r, i, lanes) == 1):
        return False
    simplify = simplifier(r.loops)
    return all(stride(simplify, s.buffer.offset(s.indices), i) == 1 for s in r.stores)


def _results_together(stage: Stage, r: Reduction, i: Var, lanes: int) -> int:
    """The number of results along a loop that are summed in the same steps."""
    if _is_product(r, i, lanes):
        return min(lanes, stage.target.registers // 2)
    return min(lanes, TOGETHER) if _is_streamed(r, i) else 1


def _is_streamed(r: Reduction, i: Var) -> bool:
    """True if results along a loop are sums of products with common elements, and each other element is read only once.

    Several rows of a matrix are then read at once, as several streams from memory, which is faster.
    """
    operands = factors(r)
    if operands is None or len(r.inner) != 1:
        return False
    rows, vector = sorted((loads(e) for e in operands), key=lambda e: -sum(bound(x.source.size) for x in e))
    return (
        len(rows) == 1
        and depends(rows[0], i)
        and bound(rows[0].source.size) >= r.work
        and not any(depends(x, i) for x in vector)
    )


def _is_product(r: Reduction, i: Var, lanes: int) -> bool:
    """True if results along a loop are sums of products with common elements, which are read once for several results, and the
    other elements are close to each other, or are those of overlapping windows.

    Rows of a matrix in memory are better read one by one.
    """
    operands = factors(r)
    if operands is None:
        return False
    simplify = simplifier(r.loops, r.inner)
    moving = [[x.source.offset(x.indices) for x in loads(e) if depends(x, i)] for e in operands]
    near, fixed = sorted(moving, key=len, reverse=True)
    steps = {stride(simplify, place, i) for place in near}
    if fixed or len(steps) != 1:
        return False
    (step,) = steps
    if step is None or step <= 0:
        return False
    return bound(step) <= lanes or any(stride(simplify, near[0], k) == step for k, _ in r.inner)
