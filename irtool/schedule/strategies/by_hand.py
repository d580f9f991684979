"""Stages that a script schedules; see `schedule.scripts.script`."""

from __future__ import annotations

from ...diagnostics import nearest
from ...tir.stmt import Stmt
from ..core.block import Block
from ..core.forms import Map, Reduction
from ..core.nest import lower_all
from ..scripts.script import MAKERS, Entry, entry_for
from .base import Candidate, Stage, Strategy, find_variant, label_of, stage_variants, strategy

_SHOWN = 6


@strategy("by_hand")
class ByHand(Strategy):
    """The primitives of a script, or the candidate that it names, for its stages."""

    plevel = 1000

    def choose(self, stage: Stage) -> Candidate | None:
        entry = entry_for(stage.kernel, stage.number, stage.main)
        if entry is None:
            return None
        if entry.offer:
            variant = find_variant(stage, entry.offer)
            if variant is None:
                known = [label_of(*v) for v in stage_variants(stage)]
                raise entry.refused(
                    f"no strategy offers {entry.offer!r} for stage {stage.number} of {stage.kernel}",
                    help=nearest(entry.offer, known) or f"offers: {'; '.join(known[:_SHOWN]) or 'none'}",
                )
            return Candidate(0, f"line {entry.line} of the schedule: {variant[1].reason}", variant)
        if entry.nest is None and not isinstance(stage.form, Map | Reduction):
            raise entry.refused(
                f"stage {stage.number} of {stage.kernel} is no map and no reduction: primitives do not apply to it",
                help=f'{", ".join(MAKERS)} split it into such; choose("LABEL") names a candidate of a strategy',
            )
        return Candidate(0, f"line {entry.line} of the schedule", entry)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        entry = candidate.plan
        if not isinstance(entry, Entry):
            chosen, own = entry
            result: Stmt = chosen.apply(stage, own)
            return result
        if entry.nest is not None:
            return entry.lower_stages(stage.form, stage.target)
        assert isinstance(stage.form, Map | Reduction)
        return lower_all(entry.apply(Block.of(stage.form)), stage.target)
