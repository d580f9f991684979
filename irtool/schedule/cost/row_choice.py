"""Vectorization of sums of rows in memory: the vectorized loop, and its number of lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...symbolic_int import estimate
from ...tir import dtypes
from ...tir.expr import Binary, Load
from ...tir.forms import AnyForm
from ...tir.vector_target import VectorTarget
from ..core.affine import depends, factors, loads, operands, reads, simplifier, stride
from ..core.axes import fuse_sums
from ..core.forms import Map, Reduction
from ..core.reassociation import COMBINED, EXTREMES
from .machine import LAST_CACHE_RATE, TOGETHER


@estimate
def choose_row_axis(r: Reduction, target: VectorTarget) -> int | None:
    """The number of the inner loop along which rows are summed in vectors; None if no loop can be."""
    lanes = target.lanes_of(r.acc.dtype)
    update = r.update
    if lanes < 4 or r.acc.dtype == "bool" or not isinstance(update, Binary):
        return None
    is_float = dtypes.is_float(r.acc.dtype)
    if is_float and dtypes.bits(r.acc.dtype) < 32 and update.op not in EXTREMES:
        return None  # sums in 16 bits depend on their order
    if update.op not in COMBINED or not isinstance(update.a, Load) or update.a.source is not r.acc:
        return None
    if reads(update.b, r.acc):
        return None
    if any(sum(depends(g, k) for k, _ in r.inner) > 1 for g in r.guards):
        return None
    simplify = simplifier(r.loops, r.inner)
    for n in range(len(r.inner) - 1, -1, -1):
        v, extent = r.inner[n]
        moving = {e: stride(simplify, e.source.offset(e.indices), v) for e in loads(update.b)}
        if any(depends(g, v) for g in r.guards) or extent < row_width(extent, lanes):
            continue
        if 1 not in moving.values() or any(s not in (0, 1) for s in moving.values()):
            continue
        # Short rows that overlap, or are read many times, are not worth vectors, unless many are summed; products of integers have instructions
        # of their own.
        least = lanes if math.prod(m for _, m in r.inner) < TOGETHER * lanes else lanes // 2
        if (extent >= least and is_float) or all(e.source.size >= r.work for e, s in moving.items() if s):
            return n
    return None


@estimate
def row_cycles(r: Reduction, n: int, target: VectorTarget) -> float:
    """Cycles per update of rows that are summed in vectors along the inner loop `n`.

    They are the cycles of loads, or for few vectors the latency of a sum; then those of the horizontal reduction of each result. An
    operand that the second cache does not hold comes from the last one each time that it is read, which any nest does once.
    """
    v, extent = r.inner[n]
    lanes = row_width(extent, target.lanes_of(r.acc.dtype))
    vectors = -(-extent // lanes)
    simplify = simplifier(r.loops, r.inner)
    moving = [e for e in operands(r) if stride(simplify, e.source.offset(e.indices), v) != 0]
    step = max(len(moving) / target.loads, 1 / target.multiply_adds, target.latency / min(vectors, TOGETHER) / TOGETHER)
    far = (e.source for e in moving if e.source.nbytes > target.l2_cache_bytes)
    again = sum((1 - min(1, b.size / r.work)) * dtypes.itemsize(b.dtype) / LAST_CACHE_RATE for b in far)
    fold = math.log2(lanes) / math.prod(m for _, m in r.inner)
    return max(step * vectors / extent, again) + fold


@estimate
def row_width(extent: int, lanes: int) -> int:
    """Lanes for a row: those of the processor's vectors, or fewer for a short row."""
    while lanes > 4 and extent < lanes:
        lanes //= 2
    return lanes


@estimate
def row_count(forms: Sequence[AnyForm], target: VectorTarget) -> int:
    """The number of rows that the stages of a kernel sum, if it is the same for all of its sums of rows.

    -1 for a kernel without sums, 0 for a kernel with other sums, or with stages that are neither maps nor sums.
    """
    counts = set()
    for f in forms:
        if not isinstance(f, Map | Reduction) or (isinstance(f, Reduction) and not _sums_rows(fuse_sums(f), target)):
            return 0
        if isinstance(f, Reduction):
            counts.add(math.prod(n for _, n in f.loops))
    return -1 if not counts else counts.pop() if len(counts) == 1 else 0


def _sums_rows(r: Reduction, target: VectorTarget) -> bool:
    """True for sums of rows, but not for those of windows, several of which share the weights."""
    return choose_row_axis(r, target) is not None and (len(r.inner) == 1 or factors(r) is None)
