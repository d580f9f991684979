"""Attention, a tile of rows at a time."""

from __future__ import annotations

from ...core.forms import Reduction
from ...core.staged import StagedNest, StagedPlan
from ...primitives import attention
from ..base import Stage, strategy
from ..staged import Scheduling, StagedStrategy, by_strategy, in_matrix_tiles, in_registers
from .form import Attention
from .tiled import is_product


@strategy("attention")
class TiledAttention(StagedStrategy):
    """Scores, their softmax and the second product for some rows at a time."""

    form = Attention

    def divide(self, stage: Stage, plan: StagedPlan) -> StagedNest:
        return attention(stage.form, **plan.arguments)

    def schedule(self, stage: Stage, whole: Stage) -> Scheduling:
        """Products in matrix tiles, or in register tiles, which may compute results twice: rows of scores are padded for it."""
        is_one = isinstance(stage.form, Reduction) and is_product(stage.form)
        if not is_one:
            return by_strategy(stage)
        return in_matrix_tiles(stage) or in_registers(stage)
