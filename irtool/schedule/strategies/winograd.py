"""Convolutions by Winograd's algorithm; see `schedule.winograd`."""

from __future__ import annotations

from functools import partial

from ...tir.stmt import Buffer
from ..affine import loads
from ..block import Block
from ..forms import Map, Reduction
from ..nest import lower
from ..primitives import prefetch, vectorize, winograd
from ..staged import StagedNest, StagedPlan
from ..winograd.form import TransformedTiles
from .base import Stage, strategy
from .staged import Scheduling, StagedStrategy, in_registers


@strategy("winograd")
class Winograd(StagedStrategy):
    """Transformed tiles of a convolution, whose products need fewer multiply-adds than its windows."""

    form = TransformedTiles

    def divide(self, stage: Stage, plan: StagedPlan) -> StagedNest:
        return winograd(stage.form, **plan.arguments)

    def schedule(self, stage: Stage, whole: Stage) -> Scheduling:
        """Transforms in vectors of channels, products in tiles of registers."""
        form = stage.form
        if isinstance(form, Map):
            block: Block[Map] = Block.of(form)
            lane, lanes = form.loops[-1]
            return Scheduling("", lambda: lower(vectorize(block, lane) if lanes > 1 else block))
        assert isinstance(whole.form, TransformedTiles)
        weights = whole.form.weights
        is_far = weights.nbytes >= stage.target.l1_cache_bytes
        return in_registers(stage, partial(_next_weights, weights) if is_far else None)


def _next_weights(weights: Buffer, b: Block[Reduction]) -> Block[Reduction]:
    """The products, where weights come from memory: those of the next product are asked for while these are used."""
    (p, _), (tile, _), _ = b.form.loops
    (read,) = (e for e in loads(b.form.update) if e.source is weights)
    over = [v for v in b.over(tile) if any(v is x for x, _ in b.outside)]
    return prefetch(b, read, b.over(p)[0], *over[:1])
