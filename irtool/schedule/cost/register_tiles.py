"""Register tiles: the numbers of results that a kernel keeps in accumulators at once.

A step of the reduction multiplies `a` values of one operand with `b` vectors of the other: `a * b` multiply-adds for `a + b`
loads. The tile must fit the registers (`a * b` accumulators, the vectors, one more), have enough independent accumulators to hide
the latency of a multiply-add, and divide the extents if possible: narrower tiles compute the tails. Sizes are computed, not
searched for, after Low et al. (Analytical Modeling Is Enough for High-Performance BLIS, 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...tir.vector_target import VectorTarget
from .machine import (
    CROWDED_REGISTER,
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


@lru_cache(maxsize=4096)
def choose_tile(
    rows: int,
    vectors: int,
    target: VectorTarget,
    shared_rows: bool = True,
    block: int = 0,
    far: bool = False,
    together: int = 1,
    across: bool = False,
) -> Tile:
    """The tile for `rows` by `vectors` results.

    Args:
        shared_rows: true if the rows share the vector operand.
        block: the number of contiguous vectors of the vector operand; a tile should not cross blocks (0: any number).
        far: true if the vector operand comes from memory. If registers hold two vectors of all rows, a tile then has all rows, so
            that memory is read in one stream and never waits for a second tile.
        together: the rows that one instruction computes, with as many vectors of columns. Rows beyond the last one are discarded.
        across: true if a tile may have several blocks if the sums of a single one would wait for each other.
    """
    best = (float("inf"), Tile(1, 1))
    least = (
        rows if far and shared_rows and 2 * rows + 3 <= target.registers + 1 and not _lacking(rows, 2, target) else 1
    )
    several = across and block * rows < target.latency
    for a in range(least, min(rows, TALLEST_TILE) + 1):
        for b in range(1, min(vectors, WIDEST_TILE) + 1):
            if block and block % b and (b % block or not several):
                continue
            row_count = -(-a // together) * together
            if row_count * b + (b * together if shared_rows else 2) + 1 > target.registers + 1:
                break
            cost = _cost(rows, vectors, Tile(a, b), target, shared_rows, together)
            if cost < best[0] - 1e-9:
                best = (cost, Tile(a, b))
    return best[1]


def tile_cost(
    rows: int, vectors: int, tile: Tile, target: VectorTarget, together: int = 1, shared_rows: bool = True
) -> float:
    """Cycles per vector of results and step, for `rows` by `vectors` results in such tiles, tails included. `shared_rows`: true
    if steps along rows share the vector operand; if not, each of them reads a vector of its own."""
    return _cost(rows, vectors, tile, target, shared_rows, together)


def vectors_per_block(
    vectors: int, rows: int, target: VectorTarget, may_pad: bool, far: bool = False, together: int = 1
) -> int:
    """The width of blocks, in vectors, for which tiles of `rows` by `vectors` results cost least, so that a tile reads one
    stream.

    `may_pad`: zeros may fill the last block; otherwise the width divides the vectors. `far`, `together`: see `choose_tile`.
    """
    width = _width(vectors, rows, target, may_pad, far, together, WIDEST_TILE // 2)
    if width * rows < target.latency:
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
        if tile.vectors != width > 1 and ((far and tile.rows == rows) or width % tile.vectors == 0):
            continue  # the tile would read each block in several parts
        cost = tile_cost(rows, whole, tile, target, together) * whole / vectors
        if cost < best[0] * (1 - 1e-6):
            best = (cost, width)
    return best[1]


def choose_window(rows: int, vectors: int, target: VectorTarget, overlap: bool = True) -> Tile:
    """The tile for results that share nothing but neighbouring elements: a few rows of one vector, or more vectors if there are
    few rows.

    If windows do not `overlap`, results share nothing: the tile is one row of contiguous vectors.
    """
    if not overlap and vectors >= TOGETHER:
        parts = -(-vectors // (2 * TOGETHER))
        return Tile(1, -(-vectors // parts))
    most = TALLEST_TILE // (2 if target.registers >= 32 else 4)
    parts = -(-rows // min(rows, most))
    a = -(-rows // parts)
    return Tile(a, min(vectors, max(1, TOGETHER // a)))


def _cost(rows: int, vectors: int, tile: Tile, target: VectorTarget, shared: bool, together: int = 1) -> float:
    """See `tile_cost`."""

    def cycles(x: int, y: int) -> float:
        n = -(-x // together) * together * y
        if not n:
            return 0.0
        loads = x + y * together if shared else n + y
        pending = target.latency * target.multiply_adds
        least = max(n / target.multiply_adds, loads / target.loads, target.latency if n < pending else 0)
        full = FULL_REGISTERS if n + y >= target.registers else 0  # no register is left for loads ahead
        lost = full + CROWDED_REGISTER * min(SPILLED_REGISTER, _crowding(x, y, target))
        return (least + LOAD_CYCLES * (loads + y) + STEP_CYCLES) * (1 + lost)

    full_a, tail_a = divmod(rows, tile.rows)
    full_b, tail_b = divmod(vectors, tile.vectors)
    total = full_a * full_b * cycles(tile.rows, tile.vectors)
    total += full_b * cycles(tail_a, tile.vectors) + full_a * cycles(tile.rows, tail_b) + cycles(tail_a, tail_b)
    return total / (rows * vectors)


def _lacking(x: int, y: int, target: VectorTarget) -> int:
    """The registers that AVX2 lacks for a step: accumulators, the vectors, and one value of a row at a time."""
    return max(0, x * y + y + 1 - target.registers) if is_avx2(target) else 0


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
