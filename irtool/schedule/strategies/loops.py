"""The loops of lowering, for stages without another strategy."""

from __future__ import annotations

import math

from ...symbolic_int import SymbolicInt, is_known
from ...tir.expr import Const, Load, post_order
from ...tir.forms import LoopForm, Steps, TupleReduction, expressions_of, nest_of
from ...tir.stmt import Buffer, Stmt
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
        return Candidate(math.inf, "lengths that the run knows") if _has_lengths(stage.form) else None

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return nest_of(stage.form)


def _has_lengths(form: LoopForm) -> bool:
    """True if a length of the run is in its loops, in an expression, or in the shape of a tensor that it reads."""
    inner = form.inner if isinstance(form, Reduction) else ()
    if not all(is_known(n) for _, n in (*form.loops, *inner)):
        return True
    return any(
        isinstance(e.value, SymbolicInt) if isinstance(e, Const) else not all(map(is_known, e.source.shape))
        for e in post_order(*expressions_of(form))
        if isinstance(e, Const) or (isinstance(e, Load) and isinstance(e.source, Buffer))
    )
