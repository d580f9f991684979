"""`partition_windows`, `unroll_windows`: windows of different sizes, one by one."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.forms import AnyForm, TupleReduction
from ...tir.stmt import seq
from ..core.forms import Reduction
from ..core.staged import StagedNest, StagedNestBuilder
from ..windows.peel_windows import axis_of_windows, in_one_map, peel_windows
from .base import makes_stages


@makes_stages
def partition_windows(form: AnyForm, axis: Var | str) -> StagedNest:
    """Splits a reduction whose windows have different sizes along an axis into one reduction for each step of that axis.

    ::

        for i in 3:                                           window_0:  for k in 5: acc = max(acc, in[k])
          for k in 6 where i*14/3 + k < (i*14 + 16)/3:    ⇒   window_1:  for k in 6: acc = max(acc, in[k + 4])
            acc = max(acc, in[i*14/3 + k])                    window_2:  for k in 5: acc = max(acc, in[k + 9])

    It is a `loop_partition` into single steps, after which no condition remains. The stages `window_0`, `window_1` … are then
    scheduled by these names. Raises UsageError unless the windows of the stage differ in size along this axis only.
    """
    windows = _windows(form, axis)
    stages = StagedNestBuilder()
    return stages.nest(seq([stages.add(f"window_{n}", r, private=False) for n, r in enumerate(windows)]))


@makes_stages
def unroll_windows(form: AnyForm, axis: Var | str) -> StagedNest:
    """Computes the same windows in one map, the stage `windows`.

    ::

        for x: for i in 3:                                              windows:  for x: out[0, x] = max(max(in[0, x], …
                 for k in 6 where i*14/3 + k < (i*14 + 16)/3:    ⇒                       out[1, x] = max(max(in[4, x], …
                   acc = max(acc, in[i*14/3 + k, x])                                     out[2, x] = max(max(in[9, x], …

    This is for few short windows: each becomes an expression, and each step of the other loops stores the results of all of them.
    Raises UsageError as `partition_windows` does.
    """
    stages = StagedNestBuilder()
    return stages.nest(stages.add("windows", in_one_map(_windows(form, axis)), private=False))


def _windows(form: AnyForm, axis: Var | str) -> list[Reduction]:
    """A reduction for each window along an axis. Raises UsageError as `partition_windows` does."""
    along = axis_of_windows(form)
    if along is None:
        raise UsageError("the stage is no reduction of windows whose sizes differ along one axis")
    assert isinstance(form, TupleReduction)
    name = axis if isinstance(axis, str) else axis.name
    if name != along[0].name:
        raise UsageError(f"windows do not differ along {name}", help=f"they do along {along[0].name}")
    windows = peel_windows(form, along)
    if windows is None:
        raise UsageError(f"a window along {name} is empty, or does not begin with its first step")
    return windows
