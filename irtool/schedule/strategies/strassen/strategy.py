"""Products of matrices by Strassen's algorithm."""

from __future__ import annotations

from ...core.staged import StagedNest, StagedPlan
from ...primitives import strassen
from ..base import Stage, strategy
from ..staged import Scheduling, StagedStrategy, in_vectors_or_registers
from .form import ProductOfHalves


@strategy("strassen")
class Strassen(StagedStrategy):
    """Seven products of sums of halves, in place of eight of halves."""

    form = ProductOfHalves

    def divide(self, stage: Stage, plan: StagedPlan) -> StagedNest:
        return strassen(stage.form, **plan.arguments)

    def schedule(self, stage: Stage, whole: Stage) -> Scheduling:
        """Sums in vectors, products in register tiles."""
        assert isinstance(whole.form, ProductOfHalves)
        return in_vectors_or_registers(stage, whole.form.weights)
