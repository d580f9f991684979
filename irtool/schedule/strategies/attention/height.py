"""The number of rows in a tile of an attention."""

from __future__ import annotations

from functools import cache

from ....symbolic_int import bound, samples
from ....tir.memory import KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...cost.machine import REUSE, SECOND_CACHE_RATE
from ...cost.register_tiles import choose_tile, tile_cost
from ...instructions.matrix_tiles import matrix_cycles


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


def rank_tile_heights(
    count: int, extent: int, columns: int, width: int, depth: int, target: VectorTarget
) -> list[tuple[float, int]]:
    """The same for both products in matrix tiles, of `depth` numbers in a sum of the first one.

    Keys and values that exceed the L1 cache are read from the L2 cache for each tile, so that higher tiles read them less often. A
    quarter of that cache holds the scores of a tile. A product by itself has scores on the stack, so that threads share its tiles.
    """
    row = 4 * columns
    near = min(target.tiles_bytes, KERNEL_SCRATCH)
    most = max(target.pair_tiles, near // row if count < target.least_parts else target.l2_cache_bytes // (4 * row))
    read = 2 * columns * (depth + width)
    fetched = read / SECOND_CACHE_RATE if read > target.l1_cache_bytes else 0

    @cache
    def cycles(rows: int) -> float:
        """The cycles of both products of `rows` rows, for each key."""
        if not rows:
            return 0.0
        products = matrix_cycles(rows, columns, -(-depth // 2), target)
        products += matrix_cycles(rows, width, columns // 2, target)
        return (products + fetched) / columns

    tallest = min(most, 4 * target.pair_tiles)
    heights = {*range(target.pair_tiles, tallest + 1, target.pair_tiles), min(extent, tallest)}
    costs = [(extent // h * cycles(h) + cycles(extent % h), h) for h in heights if h <= extent]
    # Two tiles of rows share the columns that they are multiplied with, and need fewer loads than one.
    return sorted(costs, key=lambda x: (x[0], x[1] < 2 * target.pair_tiles, x[1]))
