"""`sliding_window`: one load for elements that neighbouring rows of a tile share."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.stmt import Store
from ..core.block import Block
from ..core.forms import Form, Reduction
from ..windows.sliding import WINDOW, find_sliding
from .base import primitive


@primitive
def sliding_window(b: Block[Form], loop: Var | str) -> Block[Form]:
    """Orders the updates of a tile by the elements that they read, and reads each element once, into a register.

    ::

        for t, k: acc[t] += x[t + k] * w[k]    ⇒    for each y: cached = x[y]; for k: acc[y - k] += cached * w[k]

    Like Halide's sliding windows, within a register tile. Raises UsageError if the rows of the tile, its first axis, share no
    elements along the loop, or if the loop, which is unrolled, has more than 8 steps.
    """
    chosen = b.find(loop)
    if not isinstance(b.form, Reduction) or not b.tile:
        raise UsageError("there is no tile of accumulators", help="cache_write makes one")
    view = b.seen()
    window = find_sliding(Store(view.acc, view.place, view(b.form.update)), b.tile[0], chosen, view.simplify)
    if window is None:
        raise UsageError(f"the rows of the tile share no elements along {chosen[0].name}")
    if chosen[1] > WINDOW:
        raise UsageError(f"{chosen[0].name} has {chosen[1]} steps, and a sliding window has at most {WINDOW}")
    return replace(b, window=window)
