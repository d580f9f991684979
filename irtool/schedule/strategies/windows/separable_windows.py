"""Windows combined along one axis at a time: pooling.

    for y, x: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx])

    ⇒   for band:                                                      (some rows of results)
          for y in band, col: for ky: rows[y, col] = max(…, in[2*y + ky, col])
          for y in band, x:   for kx: acc = max(…, rows[y, 2*x + kx])

Every element is read from a cache once for each row and column of a window, not for each of its elements. Columns of `rows`
beyond the operand have the neutral value: no condition remains. If an image has a few interleaved channels, a column has all of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tir import dtypes
from ....tir.stmt import Stmt
from ....tir.vector_target import VectorTarget
from ...core.float16_lanes import accumulator_lanes
from ...cost.map_cycles import two_step_cycles
from ...primitives import combine_rows
from ...windows.separable import find_windows
from ..base import Candidate, Stage, Strategy, strategy
from ..staged import by_strategy, schedule_stages


@dataclass(frozen=True)
class Bands:
    """Rows of results in a band, and elements of a vector."""

    height: int
    lanes: int


@strategy("separable_windows")
class SeparableWindowsStrategy(Strategy):
    """The rows of windows combined first, then their columns."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.lanes < 2:
            return None
        w = find_windows(stage.form)
        if w is None:
            return None
        lanes = accumulator_lanes(w.reduction, stage.target)
        whole = lanes if w.channels[1] == 1 else 1
        nbytes = w.width(whole) * w.channels[1] * dtypes.itemsize(w.reduction.acc.dtype)
        height = _height(w.row[1], nbytes, stage.target)
        width = w.width(whole) / w.along[1]
        cycles = two_step_cycles(w.rows, w.columns, width, w.is_apart, stage.target) / lanes
        if height * nbytes > stage.target.scratch_bytes:
            return None
        reason = f"rows combined first, {height} at a time, in a buffer of {height * nbytes} bytes"
        return Candidate(cycles, reason, Bands(height, whole))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        b: Bands = candidate.plan
        shared = stage.work >= stage.target.parallel_updates and not stage.serial
        nest = combine_rows(stage.form, b.height, b.lanes, int(shared))
        return schedule_stages(nest, lambda s, form: by_strategy(stage.inner(form, serial=s.private or stage.serial)))


def _height(extent: int, nbytes: int, target: VectorTarget) -> int:
    """The rows of a band, for rows of `nbytes`: the intermediate result takes an eighth of the stack's scratch memory, and bands
    are equal."""
    height = max(1, min(extent, target.scratch_bytes // 8 // nbytes))
    return -(-extent // -(-extent // height))
