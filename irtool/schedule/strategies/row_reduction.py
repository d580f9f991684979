"""Reductions along the contiguous axis: sums, means and extremes of rows.

    for i: acc = 0; for k: acc += x[i, k]      ⇒      for i: acc[lanes] = 0; for k_o: acc[:] += x[i, k_o*lanes + :];
                                                             combined over the lanes; the elements left over one by one

Several vectors are accumulated at once, so that one addition need not wait for the one before.
"""

from __future__ import annotations

from ...tir.stmt import Stmt
from ..block import Block
from ..nest import lower
from ..primitives import parallel, rfactor
from ..row_choice import row_width
from .base import Candidate, Stage, Strategy, strategy
from .register_tile import RegisterTile


def is_preferred(stage: Stage) -> bool:
    """True if vectors along the summed axis are better than a tile of registers, which may be none."""
    rows = RowReduction().choose(stage)
    tile = RegisterTile().choose(stage)
    return rows is not None and (tile is None or rows.cost < tile.cost)


@strategy("row_reduction")
class RowReduction(Strategy):
    """Vectors of accumulators along the summed axis, several of them at once."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        at = stage.row_axis
        if r is None or at is None:
            return None
        cost = 1 / stage.target.lanes(4)  # as many vectors of accumulators as a multiply-add takes cycles
        return Candidate(cost, f"vectors along the summed axis {r.inner[at][0].name}", r.inner[at])

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        r = stage.reduction
        assert r is not None
        v, extent = candidate.plan
        lanes = row_width(extent, stage.lanes)
        vectors = next(n for n in (stage.target.latency, 2, 1) if extent // lanes >= n)
        b = rfactor(Block.of(r), v, lanes, vectors)
        shared = r.loops and r.work >= stage.target.parallel_elements and not stage.serial
        return lower(parallel(b, r.loops[0][0]) if shared else b)
