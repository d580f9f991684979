"""Convolutions by Winograd's algorithm; see `schedule.winograd`."""

from __future__ import annotations

from collections.abc import Iterator

from ...tir.stmt import Stmt
from ..primitives import remark
from ..winograd.choice import refit
from ..winograd.form import TransformedTiles
from ..winograd.nest import lower_tiles
from .base import Candidate, Stage, Strategy, strategy


@strategy("winograd")
class Winograd(Strategy):
    """Transformed tiles of a convolution, whose products need fewer multiply-adds than its windows."""

    def choose(self, stage: Stage) -> Candidate | None:
        form = stage.form
        if not isinstance(form, TransformedTiles):
            return None
        if form.target == stage.target:
            tiling, cost = form.tiling, form.cost
        else:
            tiling, cost = refit(form.tiling, form.convolution, stage.target)[0]
        return Candidate(cost, form.reason, tiling, tiling.label)

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        form = stage.form
        own = self.choose(stage)
        if own is None:
            return
        assert isinstance(form, TransformedTiles)
        yield own
        for tiling, cost in refit(form.tiling, form.convolution, stage.target):
            if tiling != own.plan:
                yield Candidate(cost, form.reason, tiling, tiling.label)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        form = stage.form
        assert isinstance(form, TransformedTiles)
        if form.target == stage.target and candidate.plan == form.tiling:
            for line in form.trace:
                remark(line)
            return form.body
        return lower_tiles(form.convolution, candidate.plan, form.weights, stage.target)
