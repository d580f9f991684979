"""Stages with a measured choice; see `schedule.scripts.tuned`."""

from __future__ import annotations

from dataclasses import replace

from ...tir.stmt import Stmt
from ..scripts.tuned import measured_choice
from .base import Candidate, Stage, Strategy, find_variant, strategy


@strategy("tuned")
class Tuned(Strategy):
    """The candidate in a table of measurements, if its strategy still offers it."""

    plevel = 900

    def choose(self, stage: Stage) -> Candidate | None:
        label = measured_choice(stage.form)
        variant = find_variant(stage, label) if label is not None else None
        if variant is None:
            return None
        return replace(variant[1], reason=f"{label} (measured)", plan=variant)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        chosen, own = candidate.plan
        result: Stmt = chosen.apply(stage, own)
        return result
