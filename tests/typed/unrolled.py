"""A strategy as a user writes one: short sums, all steps written out."""

from __future__ import annotations

from irtool.schedule import Block, Candidate, Reduction, Stage, Strategy, lower, strategy
from irtool.schedule.primitives import unroll
from irtool.tir.stmt import Stmt


@strategy("typed_unrolled_sum")
class UnrolledSum(Strategy):
    """All steps of a short sum written out."""

    plevel = 15

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        if r is None or not r.inner or r.inner[-1][1] > 16:
            return None
        return Candidate(0.5, "a short sum", r)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        r = candidate.plan
        assert isinstance(r, Reduction)
        return lower(unroll(Block.of(r), r.inner[-1][0]))
