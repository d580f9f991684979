"""The rows of a product in bands, each of which stays in the second cache while all columns are made.

Columns are outside, rows inside: what a tile reads of the vector operand stays near for all rows. But every step over the columns
then reads the other operand from its beginning. Where the caches do not hold that, bands of it do: the loop over bands is
outermost, and each reads the columns again (the loop order of Goto and van de Geijn, Anatomy of High-Performance Matrix
Multiplication, 2008). Bands are of the same size, and an even number of them: two threads then have the first and the second half
of the rows, as in kernels without bands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....tir import dtypes
from ....tir.expr import Load
from ....tir.vector_target import VectorTarget
from ...core.affine import moves, operands
from ...core.forms import Reduction
from ...cost.tile_choice import TileChoice


@dataclass(frozen=True)
class RowSegment:
    """A part of the row loop, from its step `first`: `bands` times `count` tiles of `steps`."""

    first: int
    count: int
    steps: int
    bands: int = 1

    @property
    def end(self) -> int:
        """The step behind the last."""
        return self.first + self.bands * self.count * self.steps


def in_bands(
    r: Reduction, p: TileChoice, parts: Sequence[RowSegment], passes: int, target: VectorTarget
) -> list[RowSegment]:
    """The parts of the row loop, the largest in bands where that reads less. `passes`: steps of the loop over the columns."""
    product = _operands(r, p)
    if product is None or passes < 2:
        return list(parts)
    row, column = product
    largest = max(parts, key=lambda x: x.count)
    fitting = max(1, int(target.l2_cache_bytes / 2 / (_row_bytes(r, row) * largest.steps)))
    bands = -(-largest.count // fitting)
    if bands < 2 or row.source.nbytes + bands * column.source.nbytes >= passes * row.source.nbytes:
        return list(parts)
    bands = min(bands + bands % 2, largest.count)
    count, rest = divmod(largest.count, bands)
    segments = [replace(largest, count=count, bands=bands)]
    segments += [RowSegment(segments[0].end, rest, largest.steps)] if rest else []
    return [y for x in parts for y in (segments if x is largest else [x])]


def _operands(r: Reduction, p: TileChoice) -> tuple[Load, Load] | None:
    """What moves with the rows, and what with the columns, of a product of two."""
    read = operands(r)
    if p.row is None or len(read) != 2:
        return None
    x, v = r.loops[p.row][0], r.loops[p.vector][0]
    for row, column in (read, read[::-1]):
        if moves(row, x) and not moves(row, v) and moves(column, v) and not moves(column, x):
            return row, column
    return None


def _row_bytes(r: Reduction, e: Load) -> float:
    """What one row reads of an operand that no other reads, on average; the rows may be some of those that the operand has."""
    steps = math.prod(n for v, n in r.inner if moves(e, v))
    shared = e.source.nbytes / math.prod(n for v, n in r.loops if moves(e, v))
    return min(shared, steps * dtypes.itemsize(e.dtype))
