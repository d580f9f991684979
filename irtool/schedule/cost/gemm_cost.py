"""Estimated cycles of a product of matrices in register tiles, with operands in the caches."""

from __future__ import annotations

from ...symbolic_int import estimate
from ...tir.memory import LAST_CACHE
from ...tir.vector_target import VectorTarget
from .machine import FLOAT32_BYTES, LAST_CACHE_RATE, MEMORY_RATE, REACHED_PEAK, SECOND_CACHE_RATE, TILE_OVERHEAD
from .register_tiles import choose_tile


@estimate
def gemm_cost(rows: int, columns: int, steps: int, target: VectorTarget) -> float:
    """Cycles of `rows` by `columns` sums of `steps` products of float32 numbers."""
    vectors = -(-columns // target.lanes(FLOAT32_BYTES))
    tile = choose_tile(rows, vectors, target)
    a, b = divmod(rows, tile.rows), divmod(vectors, tile.vectors)
    panel = steps * columns * FLOAT32_BYTES
    passes = -(-rows // tile.rows) if panel > target.scratch_bytes else 1
    cycles = passes * panel / SECOND_CACHE_RATE
    for x, times in ((tile.rows, a[0]), (a[1], 1)):
        for y, again in ((tile.vectors, b[0]), (b[1], 1)):
            if x and y:
                cycles += times * again * _tile_cycles(x, y, steps, target)
    return cycles


def _tile_cycles(rows: int, vectors: int, steps: int, target: VectorTarget) -> float:
    """Cycles of a tile of registers."""
    n = rows * vectors
    waits = target.latency if n < target.latency * target.multiply_adds else 0
    return steps * max(n / target.multiply_adds, (rows + vectors) / target.loads, waits) + n + TILE_OVERHEAD


@estimate
def plain_cycles(updates: int, weight_bytes: int, target: VectorTarget) -> float:
    """Cycles of a number of multiply-adds without an algorithm that saves some, with `weight_bytes` of weights."""
    # With narrower vectors a tile takes long enough to hide its beginning and end, and reaches the peak, as in `gemm_cost`.
    near = REACHED_PEAK if target.vector_bytes >= 64 else 1.0
    cycles = updates / (target.lanes(FLOAT32_BYTES) * target.multiply_adds * near)
    return cycles + (stream_cycles(weight_bytes) if weight_bytes * 2 > target.streamed_bytes else 0)


@estimate
def stream_cycles(nbytes: int, times: int = 1) -> float:
    """Cycles to read weights from beyond the L2 cache `times` times in a run."""
    return nbytes * times / (LAST_CACHE_RATE if nbytes <= LAST_CACHE else MEMORY_RATE)


@estimate
def weight_cycles(nbytes: int, target: VectorTarget) -> float:
    """Cycles in which a network reads all its weights once in a run: from the L2 cache if that holds all of them."""
    return nbytes / SECOND_CACHE_RATE if nbytes <= target.l2_cache_bytes else stream_cycles(nbytes)
