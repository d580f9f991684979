"""Register tiles: how many results a kernel keeps in accumulators at once.

A step of the reduction multiplies `a` values of one operand with `b` vectors of the other: `a * b` multiply-adds for
`a + b` loads. The tile must fit the registers (`a * b` accumulators, the vectors, one more), have enough independent
accumulators to hide the latency of a multiply-add, and divide the extents where it can: tails are done by narrower tiles. Sizes
are computed, not searched for, as Low et al. do it (Analytical Modeling Is Enough for High-Performance BLIS, 2016).
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
    """Steps along the broadcast operand's axis, vectors along the vector operand's."""

    rows: int
    vectors: int

    @property
    def points(self) -> int:
        """Accumulators."""
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
    """The tile for `rows` by `vectors` results. `shared_rows` False: the operands have nothing in common to reuse.

    `block`: so many vectors of the vector operand lie side by side, and a tile should not reach over them (0: any number).
    `far`: the vector operand comes from memory; if registers hold two vectors of all rows, a tile has all rows, so that memory is
    read in one stream and never waits for a second tile.
    `together`: an instruction makes so many rows, of which those that do not exist are made in vain, and takes as many vectors of columns.
    `across`: a tile may be of several blocks where the sums of a single one would wait for each other.
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
    """Cycles per vector of results and step, of `rows` by `vectors` of them in such tiles, tails included. `shared_rows`: whether steps along
    rows share the vector operand; if not, each of them reads a vector of its own."""
    return _cost(rows, vectors, tile, target, shared_rows, together)


def vectors_per_block(
    vectors: int, rows: int, target: VectorTarget, may_pad: bool, far: bool = False, together: int = 1
) -> int:
    """The width of the blocks, in vectors, with which tiles of that many rows and vectors cost least. `may_pad`: the last block may
    be filled up with zeros; otherwise the width divides the vectors. `far`, `together`: see `choose_tile`. So a tile reads one stream."""
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
            continue  # it would read a part of each block, and later another
        cost = tile_cost(rows, whole, tile, target, together) * whole / vectors
        if cost < best[0] * (1 - 1e-6):
            best = (cost, width)
    return best[1]


def choose_window(rows: int, vectors: int, target: VectorTarget, overlap: bool = True) -> Tile:
    """The tile where results share nothing but neighbouring elements: a few rows of one vector, more vectors where there
    are few rows. Where windows do not `overlap`, nothing is shared: vectors that lie one after the other, in the order of memory."""
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
    """Registers that AVX2 lacks for a step: accumulators, the vectors, and one value of a row at a time."""
    return max(0, x * y + y + 1 - target.registers) if is_avx2(target) else 0


def is_avx2(target: VectorTarget) -> bool:
    """True for 16 registers of 32 bytes."""
    return (target.vector_bytes, target.registers) == (32, 16)


def _crowding(x: int, y: int, target: VectorTarget) -> int:
    """Registers that a tile of `x` rows and `y` vectors lacks.

    Compilers load ahead what a step broadcasts, and keep accumulators in memory where registers are too few for both. The
    numbers are those that gcc was seen to bear without loss.
    """
    if (target.vector_bytes, target.registers) == (16, 16):
        return 0  # SSE has no multiply-add: what is in memory costs nothing beside products and sums.
    if target.vector_bytes == 64:
        return max(0, x * y + x - target.registers - 4)  # A multiply-add can broadcast an operand from memory.
    if target.registers == 16:
        return SPILLED_REGISTER * _lacking(x, y, target)
    return max(0, x * y + x + y - target.registers + 1)
