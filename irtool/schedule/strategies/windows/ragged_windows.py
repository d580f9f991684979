"""Windows of different sizes along an axis with few results: adaptive pooling.

    for i in 7: for k where i*33/7 + k < (i*33 + 4)/7 + 5: acc = max(acc, in[i*33/7 + k, x])

    ⇒   for k in 5: acc = max(acc, in[k, x])                       (i = 0)
        for k in 6: acc = max(acc, in[k + 4, x])                   (i = 1)
        …

Each of the results is a stage of its own, whose window has a known beginning and end, and which is scheduled like any reduction.
Short windows are one expression each, in one stage::

    ⇒   for x: out[0, x] = max(max(in[0, x], in[1, x]), …);  out[1, x] = max(max(in[4, x], in[5, x]), …);  …

If the windows are consecutive in a row, several rows are transposed first (see `transposed_rows`).
"""

from __future__ import annotations

from ....tir.forms import TupleReduction
from ....tir.stmt import Stmt
from ...cost.machine import WRITTEN_OUT
from ...primitives import partition_windows, unroll_windows
from ...windows.peel_windows import axis_of_windows, peel_windows
from ..base import Candidate, Stage, Strategy, strategy
from ..staged import by_strategy, schedule_stages


@strategy("uneven_windows")
class UnevenWindows(Strategy):
    """One reduction for each step of the axis along which windows differ."""

    def choose(self, stage: Stage) -> Candidate | None:
        along = axis_of_windows(stage.form)
        if along is None or along[1] > WRITTEN_OUT:
            return None
        assert isinstance(stage.form, TupleReduction)
        windows = peel_windows(stage.form, along)
        if windows is None:
            return None
        short = sum(n for r in windows for _, n in r.inner) <= stage.target.unrolled_updates
        how = "in one expression each" if short else "one after the other"
        return Candidate(1 / max(1, stage.target.lanes(4)), f"windows along {along[0].name}, {how}", (short, along[0]))

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        short, axis = candidate.plan
        nest = unroll_windows(stage.form, axis) if short else partition_windows(stage.form, axis)
        return schedule_stages(nest, lambda _, form: by_strategy(stage.inner(form, serial=stage.serial)))
