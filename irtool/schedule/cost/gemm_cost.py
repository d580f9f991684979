"""An estimate of the cycles that a product takes in tiles of registers, its operands being in the caches."""

from __future__ import annotations

from ...tir.memory import LAST_CACHE
from ...tir.vector_target import VectorTarget
from .register_tiles import choose_tile

FLOAT = 4
"""Bytes of a float32."""

STREAM = 13.0
"""Bytes of weights a cycle that come from beyond the second cache while products are made."""

_MEMORY = 9.5
"""The same of weights that no cache keeps from one run of a network to the next."""

NEXT = 64.0
"""Bytes of weights a cycle that come from the second cache."""

_NEAR = 0.92
"""Share of its peak that a convolution or a product reaches in the caches, with vectors of 64 bytes."""

_BEGUN = 12
"""Cycles to begin and end a tile of registers."""


def gemm_cost(rows: int, columns: int, steps: int, target: VectorTarget) -> float:
    """Cycles of `rows` by `columns` sums of `steps` products of float32 numbers."""
    vectors = -(-columns // target.lanes(FLOAT))
    tile = choose_tile(rows, vectors, target)
    a, b = divmod(rows, tile.rows), divmod(vectors, tile.vectors)
    panel = steps * columns * FLOAT
    passes = -(-rows // tile.rows) if panel > target.scratch_bytes else 1
    cycles = passes * panel / NEXT
    for x, times in ((tile.rows, a[0]), (a[1], 1)):
        for y, again in ((tile.vectors, b[0]), (b[1], 1)):
            if x and y:
                cycles += times * again * _tile_cycles(x, y, steps, target)
    return cycles


def _tile_cycles(rows: int, vectors: int, steps: int, target: VectorTarget) -> float:
    """Cycles of a tile of registers."""
    n = rows * vectors
    waits = target.latency if n < target.latency * target.multiply_adds else 0
    return steps * max(n / target.multiply_adds, (rows + vectors) / target.loads, waits) + n + _BEGUN


def plain_cycles(updates: int, weight_bytes: int, target: VectorTarget) -> float:
    """Cycles of so many multiply-adds with weights of so many bytes, as the formula has them."""
    # Of narrower vectors, a tile takes so long that what begins and ends it is hidden: `gemm_cost` reaches its peak as well.
    near = _NEAR if target.vector_bytes >= 64 else 1.0
    cycles = updates / (target.lanes(FLOAT) * target.multiply_adds * near)
    return cycles + (stream_cycles(weight_bytes) if weight_bytes * 2 > target.streamed_bytes else 0)


def stream_cycles(nbytes: int, times: int = 1) -> float:
    """Cycles in which weights come from beyond the second cache, so many times in a run."""
    return nbytes * times / (STREAM if nbytes <= LAST_CACHE else _MEMORY)


def weight_cycles(nbytes: int, target: VectorTarget) -> float:
    """Cycles in which a network reads all its weights once in a run: from the second cache where that holds all of them."""
    return nbytes / NEXT if nbytes <= target.l2_cache_bytes else stream_cycles(nbytes)
