"""The rows of a product in bands, each of which stays in the L2 cache while all columns are computed.

Columns are outside, rows inside: the columns of a tile stay in a cache for all rows. But every step over the columns then reads
the other operand from its beginning. If that exceeds the caches, bands of it fit: the loop over bands is outermost, and each band
reads the columns again (the loop order of Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). Bands
have the same size, and their number is even: two threads then have the first and the second half of the rows, as in kernels
without bands. If only the run knows the number of rows, the last band has the rest of them (`nest_lengths`), and threads share the
columns of a band.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....symbolic_int import bound, estimate, is_known
from ....tir import dtypes
from ....tir.expr import Load, Var, const
from ....tir.stmt import SERIAL
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, moves, operands
from ...core.block import Block, Level
from ...core.forms import Reduction, substituted
from ...core.nest_lengths import NestLengths
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
    largest = max(parts, key=lambda x: bound(x.rows))
    fitting = _fitting_tiles(r, p, largest, passes, target) if is_known(largest.count) else None
    if fitting is None:
        return list(parts)
    bands = -(-largest.count // fitting)
    bands = min(bands + bands % 2, largest.count)
    count, rest = divmod(largest.count, bands)
    segments = [replace(largest, count=count, bands=bands)]
    segments += [RowSegment(segments[0].end, rest, largest.steps)] if rest else []
    return [y for x in parts for y in (segments if x is largest else [x])]


def in_open_bands(
    b: Block[Reduction], p: TileChoice, parts: Sequence[RowSegment], passes: int, target: VectorTarget
) -> Block[Reduction] | None:
    """The block for one band of the rows, of which only the run knows the number, inside of a loop over bands.

    None if that reads no less memory, or if conditions depend on the rows.
    """
    r = b.form
    if p.row is None or b.loops != r.loops or b.inner != r.inner:
        return None
    row, rows = r.loops[p.row]
    if is_known(rows) or any(depends(g, row) for g in r.guards):
        return None
    largest = max(parts, key=lambda x: bound(x.rows))
    fitting = _fitting_tiles(r, p, largest, passes, target)
    if fitting is None:
        return None
    size = fitting * largest.steps
    band, within, lengths = Var("band", row.dtype), Var(row.name, row.dtype), NestLengths()
    length, define = lengths.add("band_rows", size, const(rows) - band * size)
    loops = [(within, length) if v is row else (v, n) for v, n in r.loops]
    form = substituted(r, {row: band * size + within}, loops)
    level = Level(((band, -(-rows // size), SERIAL),), define=lambda body: lengths.settled(define(body)))
    return replace(Block.of(form), around=(*b.around, level))


def _fitting_tiles(r: Reduction, p: TileChoice, largest: RowSegment, passes: int, target: VectorTarget) -> int | None:
    """The number of tiles whose rows fit in the cache; None if bands of so many read no less memory."""
    product = _operands(r, p)
    if product is None or bound(passes) < 2:
        return None
    row, column = product
    fitting = max(1, int(target.l2_cache_bytes / 2 / (_row_bytes(r, row) * largest.steps)))
    bands = -(-bound(largest.count) // fitting)
    if bands < 2 or bound(row.source.nbytes) + bands * bound(column.source.nbytes) >= bound(passes * row.source.nbytes):
        return None
    return fitting


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
