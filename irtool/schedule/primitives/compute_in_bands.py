"""`compute_in_bands`: a stage and the next one, which reads it, computed for some rows at a time."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.expr import Var
from ..core.forms import Map, Reduction
from ..windows.bands import Banded, cut, find_band
from .base import primitive


@primitive
def compute_in_bands(stages: tuple[Map, Reduction], loop: Var | str, rows: int) -> Banded:
    """Computes a copy, such as one with padding, for `rows` steps at a time of a loop of the stage that reads it.

    ::

        pad[…] = …, all of it                   for band in 4:
        for y in 32: … pad[y + ky]         ⇒      pad[…] = …, 10 rows of it
                                                  for y in 8: … pad[y + ky]

    The copy of a band stays in cache, and needs memory for its rows only. Unlike `compute_at`, this primitive applies to two
    stages of a kernel: it is the first of the calls for the copy, and the loop belongs to the next stage. Raises UsageError if
    that stage does not read the copy in windows along the loop, or the rows do not divide it.
    """
    copy, reader = stages
    names = [v.name for v, _ in reader.loops]
    loop_name = loop if isinstance(loop, str) else loop.name
    if loop_name not in names:
        raise UsageError(f"the next stage has no loop {loop_name}", help=f"loops: {', '.join(names) or 'none'}")
    band = find_band(copy, reader, names.index(loop_name), rows)
    if band is None:
        raise UsageError(
            f"the next stage does not read {copy.stores[0].buffer.name} in windows along {loop_name}, or {rows} rows do not divide it"
        )
    return cut(copy, reader, band)
