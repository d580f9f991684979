"""`combine_rows`: the rows of windows, then their columns, where columns have a few channels each."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ..core.staged import StagedNest
from ..windows.interleaved_rows import interleaved_rows
from .base import makes_stages


@makes_stages
def combine_rows(form: AnyForm, shared: int = 0) -> StagedNest:
    """A sum or an extreme of windows in two steps, a row of results at a time, where the last axis are a few channels.

    ::

        for y, x, c in 3: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx, c])

        ⇒    for y:
               rows:     for col, c in 3: for ky: row[col*3 + c] = max(row[col*3 + c], in[2*y + ky, col, c])
               columns:  for x, c in 3:   for kx: acc = max(acc, row[(2*x + kx)*3 + c])

    The stage `margins` fills what windows reach beyond the image with the value that a reduction begins with. `shared`: 1 if threads
    share the outermost loop. Raises UsageError for stages of another kind.
    """
    found = interleaved_rows(form)
    if found is None:
        raise UsageError("the stage does not combine windows whose columns have a few channels side by side")
    return found.nest(bool(shared))
