"""Attention, a tile of rows at a time; see `schedule.attention`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...tir.stmt import Stmt
from ..attention.form import Attention
from ..attention.nest import AttentionNest, heights_of, lower_attention
from ..attention.tiled import NotRows
from ..primitives import remark
from .base import Candidate, Stage, Strategy, strategy


@strategy("attention")
class TiledAttention(Strategy):
    """Scores, their softmax and the second product for some rows at a time."""

    def choose(self, stage: Stage) -> Candidate | None:
        return next(self.variants(stage), None)

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        form = stage.form
        if not isinstance(form, Attention):
            return
        own = AttentionNest(form.body, form.reason, form.trace)
        try:
            found = heights_of(form.chain, stage.target)
        except NotRows:  # the nest for another processor is better than plain loops
            yield Candidate(math.inf, own.reason, own, _label(form.height))
            return
        for cycles, height in found:
            nest = own
            if height != form.height or stage.target != form.target:
                try:
                    nest = lower_attention(form.chain, height, stage.target)
                except NotRows:
                    continue
            yield Candidate(cycles, nest.reason, nest, _label(height))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        nest: AttentionNest = candidate.plan
        for line in nest.trace:
            remark(line)
        return nest.body


def _label(height: int) -> str:
    return f"{height} rows"
