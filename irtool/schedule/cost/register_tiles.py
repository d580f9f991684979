"""Register tiles: the numbers of results that a kernel keeps in accumulators at once.

A step of the reduction multiplies `a` values of one operand with `b` vectors of the other: `a * b` multiply-adds for `a + b`
loads. The tile must fit the registers (`a * b` accumulators, the vectors, one more), have enough independent accumulators to hide
the latency of a multiply-add, and divide the extents if possible: narrower tiles compute the tails. Sizes are computed, not
searched for, after Low et al. (Analytical Modeling Is Enough for High-Performance BLIS, 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from ...symbolic_int import bound, estimate, is_known, samples
from ...tir.vector_target import VectorTarget
from .machine import (
    ALIKE,
    CROWDED_REGISTER,
    FETCHED_LINE,
    FULL_REGISTERS,
    LOAD_CYCLES,
    SPILLED_REGISTER,
    STEP_CYCLES,
    TALLEST_TILE,
    TOGETHER,
    WIDEST_TILE,
)


@dataclass(frozen=True)
class Tile:
    """Steps along the broadcast operand's axis, and vectors along the vector operand's."""

    rows: int
    vectors: int

    @property
    def points(self) -> int:
        """The number of accumulators."""
        return self.rows * self.vectors


@dataclass(frozen=True)
class WindowReads:
    """The reads of a tile whose rows share elements of their windows, and no operand as a whole: depthwise convolutions, pools.

    Attributes:
        taps: elements of a window along the rows.
        stride: elements between the windows of neighbouring rows.
        updates: steps of the sum, those along the rows among them.
        weights, scalars: operands that do not move with the rows: those that move with the vectors, and others.
        block: contiguous vectors of the data.
        line: vectors of the data in a line of the cache.
        fetched: elements of the data that come from behind the second cache for a result; 0 if it has them.
    """

    taps: int
    stride: int
    updates: int
    weights: int
    scalars: int
    block: int
    line: int
    fetched: int

    @property
    def overlap(self) -> bool:
        """True if neighbouring rows share elements."""
        return self.stride < self.taps

    def lacking(self, x: int, y: int, target: VectorTarget) -> int:
        """Registers that are missing for the weights of all taps along the rows, beside the accumulators and the elements read."""
        weights = self.taps * (self.weights * y + self.scalars)
        return max(0, x * y + weights + y + 1 - target.registers)

    def loads(self, x: int, y: int, target: VectorTarget) -> float:
        """Vectors read in a step of the sum. Weights are read for each row again if registers do not hold them."""
        data = min((x - 1) * self.stride / self.taps + 1, x) * y
        again = x if self.lacking(x, y, target) else 1
        return data + again * (self.weights * y + self.scalars)

    def line_cycles(self, x: int, y: int) -> float:
        """Cycles in a step to fetch lines. Tiles narrower than a line fetch it once for each of them."""
        lines = y / self.line if y % self.line == 0 or y == self.block else -(-y // self.line)
        return x * self.fetched * lines * FETCHED_LINE / self.updates


@lru_cache(maxsize=4096)
@estimate
def choose_tile(
    rows: int,
    vectors: int,
    target: VectorTarget,
    block: int = 0,
    far: bool = False,
    together: int = 1,
    across: bool = False,
    prepared: int = 0,
) -> Tile:
    """The tile for `rows` by `vectors` results.

    Args:
        block: the number of contiguous vectors of the vector operand; a tile should not cross blocks (0: any number).
        far: true if the vector operand comes from memory. If registers hold two vectors of all rows, a tile then has all rows, so
            that memory is read in one stream and never waits for a second tile.
        together: the rows that one instruction computes, with as many vectors of columns. Rows beyond the last one are discarded.
        across: true if a tile may have several blocks if the sums of a single one would wait for each other.
        prepared: see `tile_cost`.
    """
    most, widest = bound(rows), bound(vectors)
    best = (float("inf"), Tile(1, 1))
    least = most if far and 2 * most + 3 <= target.registers + 1 and not _lacking(most, 2, target) else 1
    several = across and block * most < target.latency
    for a in range(least, min(most, TALLEST_TILE) + 1):
        for b in range(1, min(widest, WIDEST_TILE) + 1):
            if block and block % b and (b % block or not several):
                continue
            row_count = -(-a // together) * together
            if row_count * b + b * together + 1 > target.registers + 1:
                break
            cost = tile_cost(rows, vectors, Tile(a, b), target, together, prepared=prepared)
            if cost < best[0] - 1e-9:
                best = (cost, Tile(a, b))
    return best[1]


@estimate
def vectors_per_block(
    vectors: int, rows: int, target: VectorTarget, may_pad: bool, far: bool = False, together: int = 1
) -> int:
    """The width of blocks, in vectors, for which tiles of `rows` by `vectors` results cost least, so that a tile reads one
    stream.

    `may_pad`: zeros may fill the last block; otherwise the width divides the vectors. `far`, `together`: see `choose_tile`.
    """
    vectors = bound(vectors)
    width = _width(vectors, rows, target, may_pad, far, together, WIDEST_TILE // 2)
    if width * bound(rows) < target.latency:
        width = _width(vectors, rows, target, may_pad, far, together, WIDEST_TILE)
    return width


def _width(vectors: int, rows: int, target: VectorTarget, may_pad: bool, far: bool, together: int, widest: int) -> int:
    """See `vectors_per_block`; at most `widest`."""
    best = (float("inf"), 1)
    for width in range(min(vectors, widest), 0, -1):
        whole = -(-vectors // width) * width
        if whole > vectors and not may_pad:
            continue
        tile = choose_tile(rows, whole, target, block=width, far=far, together=together)
        if tile.vectors != width > 1 and ((far and tile.rows == bound(rows)) or width % tile.vectors == 0):
            continue  # the tile would read each block in several parts
        cost = tile_cost(rows, whole, tile, target, together) * whole / vectors
        if cost < best[0] * (1 - 1e-6):
            best = (cost, width)
    return best[1]


@estimate
def choose_window_tile(
    rows: int, vectors: int, target: VectorTarget, windows: WindowReads, in_order: bool = True
) -> Tile:
    """The narrowest of the cheapest tiles with as many accumulators as a few rows of one vector: tiles of equal heights, and as wide as
    divides the block.

    If windows do not overlap, results share nothing: the tile is one row of contiguous vectors, unless results are stored in another
    order (`in_order` is false).
    """
    rows, vectors = bound(rows), bound(vectors)
    if in_order and not windows.overlap and vectors >= TOGETHER:
        parts = -(-vectors // (2 * TOGETHER))
        return Tile(1, -(-vectors // parts))
    most = TALLEST_TILE // (2 if target.registers >= 32 else 4)
    tiles = []
    for width in range(1, min(vectors, TOGETHER) + 1):
        if windows.block % width == 0:
            parts = -(-rows // min(rows, -(-most // width)))
            tiles.append(Tile(-(-rows // parts), width))
    costs = [tile_cost(rows, vectors, t, target, windows=windows) for t in tiles]
    return next(t for t, cost in zip(tiles, costs) if cost <= ALIKE * min(costs))


def tile_cost(
    rows: int,
    vectors: int,
    tile: Tile,
    target: VectorTarget,
    together: int = 1,
    windows: WindowReads | None = None,
    prepared: int = 0,
) -> float:
    """Cycles per vector of results and step, of `rows` by `vectors` of them in such tiles, tails included. `windows`: the reads of rows that
    do not share the vector operand. `prepared`: the operations that make a vector of that operand, such as those that unpack it.

    If only the run knows an extent, it is the mean for some lengths.
    """
    sizes = [(a, b) for a, b in samples((rows, vectors)) if a > 0 and b > 0]
    steps = _steps(target, together, windows, prepared)
    costs = [_cost(a, b, tile, steps, not is_known(rows), not is_known(vectors)) for a, b in sizes]
    return sum(costs) / max(1, len(costs))


class _Steps(dict[tuple[int, int], float]):
    """Cycles of a step of a tile of `x` rows and `y` vectors, computed when they are read for the first time."""

    def __init__(self, target: VectorTarget, together: int, windows: WindowReads | None, prepared: int) -> None:
        self.target, self.together, self.windows, self.prepared = target, together, windows, prepared

    def __missing__(self, size: tuple[int, int]) -> float:
        cycles = self[size] = self._cycles(*size)
        return cycles

    def _cycles(self, x: int, y: int) -> float:
        target, together, windows = self.target, self.together, self.windows
        n = -(-x // together) * together * y
        if not n:
            return 0.0
        loads = windows.loads(x, y, target) if windows else x + y * together
        pending = target.latency * target.multiply_adds
        is_short = windows is not None and windows.overlap  # so few steps that two tiles are computed at a time
        latency = target.latency / (2 if is_short else 1)
        operations = n + y * self.prepared
        least = max(operations / target.multiply_adds, loads / target.loads, latency if n < pending else 0)
        full = FULL_REGISTERS if n + y >= target.registers else 0  # no register is left for loads ahead
        crowding = windows.lacking(x, y, target) if windows else _crowding(x, y, target)
        lost = full + CROWDED_REGISTER * min(SPILLED_REGISTER, crowding)
        lines = windows.line_cycles(x, y) if windows else 0
        return (least + LOAD_CYCLES * (loads + y) + STEP_CYCLES) * (1 + lost) + lines


@lru_cache(maxsize=64)
def _steps(target: VectorTarget, together: int, windows: WindowReads | None, prepared: int) -> _Steps:
    """The steps of all tiles for a processor: lengths of the run are costed at many sizes."""
    return _Steps(target, together, windows, prepared)


def _cost(rows: int, vectors: int, tile: Tile, cycles: _Steps, open_rows: bool, open_vectors: bool) -> float:
    """See `tile_cost`. An open extent has tails of the sizes of `tail_sizes`, and of half the vectors, half of these, and so on."""
    full_a, tail_a = divmod(rows, tile.rows)
    full_b, tail_b = divmod(vectors, tile.vectors)
    tails_a = _tail(tail_a, tile.rows) if open_rows else [tail_a]
    tails_b = _powers_of_two(tail_b) if open_vectors else [tail_b]
    total = full_a * full_b * cycles[tile.rows, tile.vectors]
    in_rows = sum([cycles[a, tile.vectors] for a in tails_a])
    in_columns = sum([cycles[tile.rows, b] for b in tails_b])
    total += full_b * in_rows + full_a * in_columns
    total += sum([cycles[a, b] for a in tails_a for b in tails_b])
    return total / (rows * vectors)


def tail_sizes(size: int) -> list[int]:
    """The rows of smaller tiles for the remainder of an extent that only the run knows: the square root of the size of full tiles, and 1.

    They are little code, and few tiles: 5 at most beside full ones of 14 rows.
    """
    return [n for n in dict.fromkeys((round(math.sqrt(size)), 1)) if n < size]


def _tail(rest: int, size: int) -> list[int]:
    """The smaller tiles of a remainder."""
    tiles = []
    for n in tail_sizes(size):
        tiles += [n] * (rest // n)
        rest %= n
    return tiles


def _powers_of_two(n: int) -> list[int]:
    """The powers of two whose sum is the number."""
    return [1 << k for k in range(n.bit_length()) if n >> k & 1]


def _lacking(x: int, y: int, target: VectorTarget) -> int:
    """The registers that AVX2 lacks for a step: accumulators, the vectors, and one value of a row at a time."""
    return max(0, x * y + y + 1 - target.registers) if is_avx2(target) else 0


@estimate
def is_avx2(target: VectorTarget) -> bool:
    """True for 16 registers of 32 bytes."""
    return (target.vector_bytes, target.registers) == (32, 16)


def _crowding(x: int, y: int, target: VectorTarget) -> int:
    """The registers that a tile of `x` rows and `y` vectors lacks.

    Compilers load broadcast operands ahead, and spill accumulators to memory if registers are too few for both. The limits are
    those up to which gcc showed no loss.
    """
    if (target.vector_bytes, target.registers) == (16, 16):
        return 0  # SSE has no multiply-add: memory operands cost nothing beside products and sums.
    if target.vector_bytes == 64:
        return max(0, x * y + x - target.registers - 4)  # A multiply-add can broadcast an operand from memory.
    if target.registers == 16:
        return SPILLED_REGISTER * _lacking(x, y, target)
    return max(0, x * y + x + y - target.registers + 1)
