"""Reductions with a register tile of results, whose vectors are assembled from elements that are not contiguous.

    for o in 64: for x in 32: for i…: acc += data[i, x] * w[i, o]      (rows of w are 9 elements apart, and data is in blocks along i)

    ⇒   w[i, o…] is assembled once for each i, and multiplied with data[i, x] for several x

A gradient reads the operands of its operator in another order, and the build cannot pack weights that only the run has: a
reduction may have no axis along which all operands are contiguous. Assembling a vector takes a load for each element, but several
rows share it.
"""

from __future__ import annotations

from ....tir.stmt import Stmt
from ...core.block import Block
from ...core.nest import lower_all
from ...cost.tile_choice import choose_register_tile
from ..base import Candidate, Stage, Strategy, strategy
from .strategy import tile_reduction


@strategy("gathered_tile")
class GatheredTile(Strategy):
    """A register tile whose vectors are assembled element by element, for stages without a contiguous axis."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        if r is None:
            return None
        plan = choose_register_tile(r, stage.target, stage.may_repeat_sums, gathered=True)
        if plan is None or (stage.tile is not None and stage.tile.cost <= plan.cost):
            return None
        label = f"axis {plan.vector}, tile {plan.tile.rows} x {plan.tile.vectors} x {plan.lanes}"
        return Candidate(plan.cost, f"vectors assembled from elements, {plan.reason}", plan, label)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        block = Block.of(stage.reduction)
        return lower_all(tile_reduction(block, candidate.plan, stage.target, serial=stage.serial), stage.target)
