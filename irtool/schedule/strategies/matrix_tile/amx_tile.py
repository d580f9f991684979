"""Sums of products of words in matrix tiles, on processors with Intel's AMX; see `schedule.instructions.matrix_tiles`."""

from __future__ import annotations

from ....tir.stmt import Stmt
from ...instructions.matrix_tiles import choose_matrix_tiling, vector_cycles
from ..base import Candidate, Stage, Strategy, strategy
from .nest import nest_in_tiles


@strategy("amx_tile")
class AmxTile(Strategy):
    """Blocks of 32 x 32 sums in matrix tiles, and their epilogues in vectors."""

    def choose(self, stage: Stage) -> Candidate | None:
        r = stage.reduction
        t = choose_matrix_tiling(r, stage.target) if r is not None else None
        if r is None or t is None:
            return None
        share = t.cycles / vector_cycles(r, t, stage.target)
        rows, columns = t.rows.axis, t.columns.axis
        reason = (
            f"rows along {rows[0].name} of {rows[1]}, columns along {columns[0].name} of {columns[1]}, {t.label}"
            f"{', transposed' if t.transposed else ''}, "
            f"{share:.2f} of the estimated cycles of vectors"
        )
        each = stage.tile.cost if stage.tile is not None else vector_cycles(r, t, stage.target) / r.work
        return Candidate(share * each, reason, t, t.label)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        assert stage.reduction is not None
        return nest_in_tiles(stage.reduction, candidate.plan, stage.target, stage.serial)
