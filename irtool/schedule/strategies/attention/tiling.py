"""Tiling of an attention: rows of a tile, keys of a panel, and the place of the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....diagnostics import UsageError
from ....symbolic_int import bound, estimate
from ....tir.forms import Reduction
from ....tir.memory import CACHE_LINE, KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...cost.machine import REUSE
from ...cost.register_tiles import choose_tile, vectors_per_block
from .chain import Chain
from .height import rank_heights
from .tiled import NotRows


@dataclass(frozen=True)
class RowTiling:
    """A plan for an attention.

    Attributes:
        rows: queries of a tile.
        keys: columns of scores that are computed for all rows of a tile before the next ones.
        lanes: elements of a vector; rows of scores are full vectors.
        parts: the number of parts of the products that threads share; the scores of each part are in the workspace. 0: every tile
            has its own, on the stack.
        values: contiguous columns of the second product in a copy of its values; 0: all of them.
    """

    rows: int
    keys: int
    lanes: int
    parts: int = 0
    values: int = 0

    @property
    def arguments(self) -> dict[str, int]:
        """The arguments of the primitive `attention`."""
        own = {"rows": self.rows, "keys": self.keys, "lanes": self.lanes}
        return own | {n: v for n, v in (("parts", self.parts), ("values", self.values)) if v}


@estimate
def heights_of(chain: Chain, target: VectorTarget) -> list[tuple[float, int]]:
    """The heights that a tile may have, best first, each behind the cycles of a key for all rows. Raises NotRows if none is worth
    it."""
    first, last = chain.products
    count, extent, columns = rows_of(first)
    lanes = target.lanes_of("float32")
    width = last.loops[-1][1]
    if extent < REUSE or columns < lanes or width < lanes or first.work < target.parallel_updates:
        raise NotRows
    ranked = rank_heights(count, extent, padded(columns, lanes), width, target)
    if ranked[0][1] < REUSE:
        raise NotRows
    return ranked


def tiling_of(chain: Chain, rows: int, target: VectorTarget) -> RowTiling:
    """The plan for tiles of `rows` rows."""
    count, _, columns = rows_of(chain.products[0])
    lanes = target.lanes_of("float32")
    wide = bound(padded(columns, lanes))
    vectors = choose_tile(rows, padded(columns, lanes) // lanes, target).vectors
    values = _panel_of_values(chain, rows, target)
    if rows * wide * 4 <= min(target.tiles_bytes, KERNEL_SCRATCH):
        return RowTiling(rows, vectors * lanes, lanes, 0, values)
    parts = next(n for n in range(min(bound(count), target.most_parts), 0, -1) if count % n == 0)
    return RowTiling(rows, vectors * lanes, lanes, parts, values)


def _panel_of_values(chain: Chain, rows: int, target: VectorTarget) -> int:
    """The columns of a tile of the second product, if these are a part of a row; 0 if rows are not divided."""
    lanes, width = target.lanes_of("float32"), chain.products[1].loops[-1][1]
    if target.vector_bytes > CACHE_LINE // 2:
        return 0
    vectors = choose_tile(rows, width // lanes, target).vectors
    if width // lanes % vectors:  # tiles would cross panels
        vectors = vectors_per_block(width // lanes, rows, target, may_pad=False)
    taken = lanes * vectors
    return taken if taken < width and width % taken == 0 else 0


def tiling_by_hand(chain: Chain, rows: int, keys: int, lanes: int, parts: int = 0, values: int = 0) -> RowTiling:
    """The plan of a schedule by hand. Raises UsageError if the attention cannot have it."""
    count, extent, columns = rows_of(chain.products[0])
    if not 0 < rows <= bound(extent):
        raise UsageError(f"there are {extent} rows, and a tile cannot have {rows}")
    if not 0 < lanes <= bound(columns) or lanes & (lanes - 1):
        raise UsageError(f"rows of {columns} columns are not made in vectors of {lanes}")
    if keys < lanes or keys % lanes:
        raise UsageError(f"{keys} columns are no whole vectors of {lanes}")
    if parts < 0 or (parts and count % parts):
        raise UsageError(f"{count} products are not divided into {parts} parts")
    width = chain.products[1].loops[-1][1]
    if values < 0 or values % lanes or (values and width % values):
        raise UsageError(f"{values} columns of values are no whole vectors of {lanes}, or do not divide {width}")
    nbytes = rows * bound(padded(columns, lanes)) * 4
    if not parts and nbytes > KERNEL_SCRATCH:
        raise UsageError(f"{rows} rows would take {nbytes} bytes of the stack", help="fewer rows, or parts=1")
    return RowTiling(rows, keys, lanes, parts, values)


def rows_of(first: Reduction) -> tuple[int, int, int]:
    """The number of products, and the rows and columns of each."""
    (_, extent), (_, columns) = first.loops[-2:]
    return math.prod(n for _, n in first.loops[:-2]), extent, columns


def padded(columns: int, lanes: int) -> int:
    """Columns rounded up to full vectors."""
    return -(-columns // lanes) * lanes
