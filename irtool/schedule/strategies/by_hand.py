"""Stages that a script schedules; see `schedule.script`."""

from __future__ import annotations

from ...tir.stmt import Stmt
from ..block import Block
from ..forms import Map, Reduction
from ..nest import lower_all
from ..script import Entry, entry_for
from .base import Candidate, Stage, Strategy, strategy


@strategy("by_hand")
class ByHand(Strategy):
    """The primitives of a script, for the stages that it names."""

    plevel = 1000

    def choose(self, stage: Stage) -> Candidate | None:
        if not isinstance(stage.form, Map | Reduction):
            return None
        entry = entry_for(stage.kernel, stage.number, stage.main)
        return Candidate(0, f"line {entry.line} of the schedule", entry) if entry is not None else None

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        entry = candidate.plan
        assert isinstance(entry, Entry) and isinstance(stage.form, Map | Reduction)
        return lower_all(entry.apply(Block.of(stage.form)), stage.target)
