"""Convolutions by Winograd's algorithm."""

from __future__ import annotations

from ...core.staged import StagedNest, StagedPlan
from ...primitives import winograd
from ..base import Stage, strategy
from ..staged import Scheduling, StagedStrategy, in_vectors_or_registers
from .form import TransformedTiles


@strategy("winograd")
class Winograd(StagedStrategy):
    """Transformed tiles of a convolution, whose products need fewer multiply-adds than its windows."""

    form = TransformedTiles

    def divide(self, stage: Stage, plan: StagedPlan) -> StagedNest:
        return winograd(stage.form, **plan.arguments)

    def schedule(self, stage: Stage, whole: Stage) -> Scheduling:
        """Transforms in vectors of channels, products in register tiles."""
        assert isinstance(whole.form, TransformedTiles)
        return in_vectors_or_registers(stage, whole.form.weights)
