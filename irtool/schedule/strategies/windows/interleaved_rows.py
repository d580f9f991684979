"""Windows over images of few channels, their rows first: padded or large ones, and those that overlap.

    for y: for col, c: for ky: row[col, c] = max(row[col, c], in[2*y + ky, col, c])      (vectors along columns and channels)
           for x, c: for kx: acc = max(acc, row[2*x + kx, c])                            (see `interleaved_windows`)

A row is read side by side, and what windows reach beyond the image is in it: no condition is left.
"""

from __future__ import annotations

from ....tir.stmt import Stmt
from ...cost.window_cycles import two_step_cycles
from ...primitives import combine_rows
from ...windows.interleaved_rows import interleaved_rows
from ..base import Candidate, Stage, Strategy, strategy
from ..staged import by_strategy, schedule_stages


@strategy("interleaved_rows")
class InterleavedRows(Strategy):
    """Rows of columns and channels, then columns."""

    def choose(self, stage: Stage) -> Candidate | None:
        found = interleaved_rows(stage.form) if stage.lanes > 1 else None
        if found is None:
            return None
        _, channels = found.channels
        shared = bool(found.outside) and stage.work >= stage.target.parallel_updates and not stage.serial
        w = found.windows
        cycles = two_step_cycles(w.rows, w.columns, w.exact_width / w.extent, True, stage.target) / stage.lanes
        return Candidate(cycles, f"rows of columns of {channels} channels, then columns", int(shared))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        nest = combine_rows(stage.form, candidate.plan)
        return schedule_stages(nest, lambda s, form: by_strategy(stage.inner(form, serial=s.private)))
