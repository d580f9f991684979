"""`sliding_window`: elements that neighbouring rows of a tile both read are loaded once."""

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
    """The updates of a tile in the order of the elements that they read, each of which is read once, into a register.

    ::

        for t, k: acc[t] += x[t + k] * w[k]    ⇒    for each y: cached = x[y]; for k: acc[y - k] += cached * w[k]

    As Halide's sliding windows, within a tile of registers. Raises UsageError if the rows of the tile, its first axis, read
    nothing in common along the loop, or it has more than 8 steps, which are written out.
    """
    chosen = b.find(loop)
    if not isinstance(b.form, Reduction) or not b.tile:
        raise UsageError("there is no tile of accumulators", help="cache_write makes one")
    view = b.seen()
    window = find_sliding(Store(view.acc, view.place, view(b.form.update)), b.tile[0], chosen, view.simplify)
    if window is None:
        raise UsageError(f"the rows of the tile read nothing in common along {chosen[0].name}")
    if chosen[1] > WINDOW:
        raise UsageError(f"{chosen[0].name} has {chosen[1]} steps, and a window that slides at most {WINDOW}")
    return replace(b, window=window)
