"""Tiling of an attention: rows of a tile, keys of a panel, and the place of the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....diagnostics import UsageError
from ....symbolic_int import bound, estimate, is_known
from ....tir.forms import Reduction
from ....tir.memory import CACHE_LINE, KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...core.switches import is_on
from ...cost.machine import REUSE, TOGETHER
from ...cost.register_tiles import choose_tile, vectors_per_block
from ...instructions.matrix_tiles import WORDS
from .chain import Chain
from .height import rank_heights, rank_tile_heights
from .tiled import NotRows, is_rounded

TILE_LANES = 2 * WORDS
"""Columns of scores in a row of a matrix tile of the second product, and in two tiles of the first one."""


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
        words: sums of products of bfloat16 numbers have a multiple of as many words: those in a row of a matrix tile, so that all
            tiles of registers have one configuration.
    """

    rows: int
    keys: int
    lanes: int
    parts: int = 0
    values: int = 0
    words: int = 1

    @property
    def arguments(self) -> dict[str, int]:
        """The arguments of the primitive `attention`."""
        own = {"rows": self.rows, "keys": self.keys, "lanes": self.lanes}
        others = (("parts", self.parts, 0), ("values", self.values, 0), ("words", self.words, 1))
        return own | {n: v for n, v, usual in others if v != usual}


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
    if has_tiles(chain, target):
        depth = first.inner[0][1]
        return rank_tile_heights(count, extent, padded(columns, TILE_LANES), width, depth, target)
    ranked = rank_heights(count, extent, padded(columns, lanes), width, target)
    if ranked[0][1] < REUSE:
        raise NotRows
    return ranked


def tiling_of(chain: Chain, rows: int, target: VectorTarget) -> RowTiling:
    """The plan for tiles of `rows` rows."""
    count, _, columns = rows_of(chain.products[0])
    if has_tiles(chain, target):
        lanes, values, words = TILE_LANES, 0, WORDS
        keys = min(TOGETHER * WORDS, columns // lanes * lanes)
    else:
        lanes, values, words = target.lanes_of("float32"), _panel_of_values(chain, rows, target), 1
        keys = choose_tile(rows, padded(columns, lanes) // lanes, target).vectors * lanes
    wide = bound(padded(columns, lanes))
    if rows * wide * 4 <= min(target.tiles_bytes, KERNEL_SCRATCH):
        return RowTiling(rows, keys, lanes, 0, values, words)
    parts = next(n for n in range(min(bound(count), target.most_parts), 0, -1) if count % n == 0)
    return RowTiling(rows, keys, lanes, parts, values, words)


def has_tiles(chain: Chain, target: VectorTarget) -> bool:
    """True if both products of an attention are computed in matrix tiles: their operands are bfloat16, and each row of scores
    fills a pair of tiles."""
    first, last = chain.products
    _, extent, columns = rows_of(first)
    if target.pair_tiles < 2 or target.lanes_of("float32") != WORDS or not is_on("amx_tile"):
        return False
    known = is_known(extent) and is_known(columns) and columns >= TILE_LANES and last.loops[-1][1] >= WORDS
    return known and is_rounded(first) and is_rounded(last)


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


def tiling_by_hand(
    chain: Chain, rows: int, keys: int, lanes: int, parts: int = 0, values: int = 0, words: int = 1
) -> RowTiling:
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
    if words < 1 or (words > 1 and lanes % (2 * words)):
        raise UsageError(f"vectors of {lanes} columns are no whole groups of {words} words of two")
    nbytes = rows * bound(padded(columns, lanes)) * 4
    if not parts and nbytes > KERNEL_SCRATCH:
        raise UsageError(f"{rows} rows would take {nbytes} bytes of the stack", help="fewer rows, or parts=1")
    return RowTiling(rows, keys, lanes, parts, values, words)


def rows_of(first: Reduction) -> tuple[int, int, int]:
    """The number of products, and the rows and columns of each."""
    (_, extent), (_, columns) = first.loops[-2:]
    return math.prod(n for _, n in first.loops[:-2]), extent, columns


def padded(columns: int, lanes: int) -> int:
    """Columns rounded up to full vectors."""
    return -(-columns // lanes) * lanes
