"""Convolutions by Winograd's algorithm; see `schedule.winograd`."""

from __future__ import annotations

from ...tir.stmt import Stmt
from ..winograd.choice import refit
from ..winograd.form import TransformedTiles
from ..winograd.nest import lower_tiles
from .base import Candidate, Stage, Strategy, strategy


@strategy("winograd")
class Winograd(Strategy):
    """Transformed tiles of a convolution, whose products need fewer multiply-adds than its windows."""

    plevel = 20

    def choose(self, stage: Stage) -> Candidate | None:
        if not isinstance(stage.form, TransformedTiles):
            return None
        return Candidate(stage.form.cost, stage.form.reason)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        form = stage.form
        assert isinstance(form, TransformedTiles)
        if form.target == stage.target:
            return form.body
        tiling = refit(form.tiling, form.convolution, stage.target)
        return lower_tiles(form.convolution, tiling, form.weights, stage.target)
