"""The rows of a product in bands, each of which stays in the L2 cache while all columns are computed.

Columns are outside, rows inside: the columns of a tile stay in a cache for all rows. But every step over the columns then reads
the other operand from its beginning. If that exceeds the caches, bands of it fit: the loop over bands is outermost, and each band
reads the columns again (the loop order of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). Bands
have the same size, and their number is even: two threads then have the first and the second half of the rows, as in kernels
without bands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....symbolic_int import bound, estimate, is_known
from ....tir import dtypes
from ....tir.expr import Load
from ....tir.vector_target import VectorTarget
from ...core.affine import moves, operands
from ...core.forms import Reduction
from ...cost.tile_choice import TileChoice


@dataclass(frozen=True)
class RowSegment:
    """A part of the row loop, from its step `first`: `bands` bands of `count` tiles of `steps` rows."""

    first: int
    count: int
    steps: int
    bands: int = 1

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.bands * self.count * self.steps

    @property
    def end(self) -> int:
        """The step behind the last."""
        return self.first + self.rows


def in_bands(
    r: Reduction, p: TileChoice, parts: Sequence[RowSegment], passes: int, target: VectorTarget
) -> list[RowSegment]:
    """The parts of the row loop, the largest in bands if that reads less memory. `passes`: steps of the loop over the columns."""
    product = _operands(r, p)
    if product is None or bound(passes) < 2:
        return list(parts)
    row, column = product
    largest = max(parts, key=lambda x: bound(x.rows))
    fitting = max(1, int(target.l2_cache_bytes / 2 / (_row_bytes(r, row) * largest.steps)))
    bands = -(-bound(largest.count) // fitting)
    if bands < 2 or bound(row.source.nbytes) + bands * bound(column.source.nbytes) >= bound(passes * row.source.nbytes):
        return list(parts)
    if is_known(largest.count):
        bands = min(bands + bands % 2, largest.count)
        count, rest = divmod(largest.count, bands)
    else:
        count = fitting
        bands, rest = divmod(largest.count, count)
    segments = [replace(largest, count=count, bands=bands)]
    segments += [RowSegment(segments[0].end, rest, largest.steps)] if rest != 0 else []
    return [y for x in parts for y in (segments if x is largest else [x])]


def _operands(r: Reduction, p: TileChoice) -> tuple[Load, Load] | None:
    """The operand that depends on the rows, and the one that depends on the columns, of a product of two; None for other
    reductions."""
    read = operands(r)
    if p.row is None or len(read) != 2:
        return None
    x, v = r.loops[p.row][0], r.loops[p.vector][0]
    for row, column in (read, read[::-1]):
        if moves(row, x) and not moves(row, v) and moves(column, v) and not moves(column, x):
            return row, column
    return None


@estimate
def _row_bytes(r: Reduction, e: Load) -> float:
    """The bytes of an operand that one row reads and no other does, on average; the operand may have more rows than the loop."""
    steps = math.prod(n for v, n in r.inner if moves(e, v))
    shared = e.source.nbytes / math.prod(n for v, n in r.loops if moves(e, v))
    return min(shared, steps * dtypes.itemsize(e.dtype))
