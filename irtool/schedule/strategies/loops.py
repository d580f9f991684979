"""The loops of lowering, for stages without another strategy."""

from __future__ import annotations

import math

from ...symbolic_int import is_known
from ...tir.forms import Steps, TupleReduction, nest_of
from ...tir.stmt import Stmt
from ..core.block import Block
from ..core.forms import Reduction
from ..core.nest import lower
from ..primitives import parallel
from .base import Candidate, Stage, Strategy, strategy


@strategy("scalar_reduction")
class ScalarReduction(Strategy):
    """One result after the other; each update waits for the one before."""

    def choose(self, stage: Stage) -> Candidate | None:
        if not isinstance(stage.form, Reduction):
            return None
        cost = stage.target.latency + len(stage.windows.guards if stage.windows is not None else ())
        return Candidate(cost, "no spatial axis along which all operands are contiguous or constant")

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert isinstance(stage.form, Reduction)
        b = Block.of(stage.form)
        shared = b.loops and stage.work >= stage.target.parallel_updates and not stage.serial
        return lower(parallel(b, b.loops[0][0]) if shared else b)


@strategy("loops")
class Loops(Strategy):
    """Stages that are neither maps nor reductions of one accumulator: arg-max, sorting, sampling, recurrences. Others only if no other
    strategy supports the lengths that the run knows."""

    def choose(self, stage: Stage) -> Candidate | None:
        if isinstance(stage.form, TupleReduction | Steps):
            return Candidate(math.inf, "not a formula")
        inner = stage.form.inner if isinstance(stage.form, Reduction) else ()
        if all(is_known(n) for _, n in (*stage.form.loops, *inner)):
            return None
        return Candidate(math.inf, "lengths that the run knows")

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return nest_of(stage.form)
