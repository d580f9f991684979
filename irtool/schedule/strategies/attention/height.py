"""The number of rows in a tile of an attention."""

from __future__ import annotations

from functools import cache

from ....symbolic_int import bound, samples
from ....tir.vector_target import VectorTarget
from ...cost.machine import REUSE
from ...cost.register_tiles import choose_tile, tile_cost


def rank_heights(count: int, extent: int, columns: int, width: int, target: VectorTarget) -> list[tuple[float, int]]:
    """Heights of a tile, best first, each behind the cycles of a key for all rows.

    The register tiles should leave no rows at the end, or not few. If only the run knows the rows or the columns, the cycles are the mean
    for some lengths.
    """
    sizes = samples((extent, columns))
    count, extent, columns = bound(count), bound(extent), bound(columns)
    lanes = target.lanes_of("float32")
    row = 4 * columns
    most = min(extent, max(32, min(64, target.scratch_bytes // (2 * row))), target.tiles_bytes // row)
    if most < 12:
        most = min(extent, 32, target.packed_bytes // row)
    if most * row > target.scratch_bytes and count < 4:  # threads share tiles
        most = min(most, max(REUSE, extent // (4 * target.least_parts)))

    @cache
    def cycles(rows: int, columns: int) -> float:
        """The cycles of the products of `rows` rows with a key."""
        if not rows:
            return 0.0
        both = [-(-n // lanes) for n in (columns, width)]
        return sum(tile_cost(rows, n, choose_tile(rows, n, target), target) * n for n in both) * (rows + 1)

    def cost(height: int) -> float:
        return sum(n // height * cycles(height, m) + cycles(n % height, m) for n, m in sizes) / len(sizes)

    return sorted((cost(h), h) for h in range(max(1, min(most, REUSE)), most + 1))
