"""A check that the parts of a stage in a schedule by hand cover the entire stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

from ...diagnostics import UsageError
from ...tir.expr import Var
from ...tir.forms import buffers_read
from ..core.block import Block
from ..core.forms import Loop, Map, Reduction
from ..cost.tile_choice import is_padded


def check_whole(parts: Sequence[Block[Any]], form: Map | Reduction, line: int) -> None:
    """Raises UsageError if the parts together do not compute all results of a form, leave out steps of its reduction, or compute
    results twice that are added to earlier ones."""
    axes = form.loops
    for b in parts:
        for v, n in axes:
            end = b.ranges.get(v, (0, n))[1]
            if end > n and not _stores_tail(b, v, n):
                raise UsageError(f"the schedule of line {line} computes more of {v.name} than its {n} steps")
    boxes = [[b.ranges.get(v, (0, n)) for v, n in axes] for b in parts]
    cuts = [sorted({0, n, *(min(x, n) for box in boxes for x in box[i])}) for i, (_, n) in enumerate(axes)]
    adds = any(s.buffer in buffers_read(form) for s in form.stores)
    for cell in product(*(list(pairwise(c)) for c in cuts)):
        covered = sum(all(lo <= a and b <= hi for (a, b), (lo, hi) in zip(cell, box)) for box in boxes)
        if not covered:
            raise UsageError(f"the schedule of line {line} leaves out results: {_shown(axes, cell)}")
        if covered > 1 and adds:
            raise UsageError(f"the schedule of line {line} adds to results twice: {_shown(axes, cell)}")
    for b in parts:
        if any(v in b.ranges for v, _ in form.inner):
            raise UsageError(f"the schedule of line {line} leaves out a part of the reduction")
        is_cut = 0 < b.results < math.prod(n for _, n in b.tile[-2:])
        if is_cut and not any(_stores_tail(b, v, n) for v, n in b.form.loops):
            raise UsageError(f"the schedule of line {line} leaves out results: store_tail({b.results}) is for a tail")


def _shown(axes: Sequence[Loop], cell: Sequence[tuple[int, int]]) -> str:
    """The text for a range of the results."""
    return ", ".join(f"{v.name} in [{a}, {b})" for (v, _), (a, b) in zip(axes, cell))


def _stores_tail(b: Block[Any], v: Var, extent: int) -> bool:
    """True if the block stores only the elements of the axis that exist, and its operands are padded to more."""
    begin, end = b.ranges.get(v, (0, extent))
    last = b.tile[-2:]
    over = [(x, n) for x, n in b.loops if any(x is y for y in b.over(v))]
    return (
        b.results > 0
        and begin + b.results == extent
        and all(any(x is y for y, _ in last) for x, _ in over)
        and math.prod(n for _, n in last) == end - begin
        and is_padded(b.form, v, end)
    )
