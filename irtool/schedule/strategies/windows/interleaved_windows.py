"""Windows over images with a few interleaved channels: pooling of RGB.

    for x, c in 3: for kx: acc = max(acc, in[2*x + kx, c])

    ⇒   for xc_o: for xc_u in 3 (unrolled):                                    (the vectors of a period)
          for kx: acc[lanes] = max(acc, in[xc // 3 * 2 + kx, xc % 3])          (two reads and a shuffle)

The axes of columns and channels become one axis of vectors, along which the offsets of reads are periodic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....tir.expr import Var
from ....tir.stmt import Stmt
from ...core.affine import depends, epilogue_operands, offsets, simplifier, stride
from ...core.block import Block
from ...core.forms import Reduction
from ...core.nest import lower_all
from ...core.strip_mine import period_segments
from ...cost.machine import WRITTEN_OUT
from ...cost.window_cycles import one_step_cycles
from ...primitives import (
    cache_write,
    drop_unit_loops,
    fuse,
    loop_partition,
    parallel,
    part,
    reorder,
    split,
    unroll,
    untraced,
    vectorize,
)
from ..base import Candidate, Stage, Strategy, strategy
from ..elementwise.ragged_reads import vectors_of_period


@dataclass(frozen=True)
class Interleaved:
    """The two axes that are fused, the name and the extent of the fused axis, and the vectors of a period."""

    outer: Var
    inner: Var
    axis: str
    extent: int
    period: int


@strategy("interleaved_windows")
class InterleavedWindows(Strategy):
    """Vectors along columns and channels together."""

    def choose(self, stage: Stage) -> Candidate | None:
        plan = _interleaved(stage) if stage.windows is not None and stage.lanes > 1 else None
        if plan is None:
            return None
        why = f"vectors along {plan.axis}, whose offsets repeat after {plan.period} vectors"
        return Candidate(one_step_cycles(stage.target) / stage.lanes, why, plan)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        p: Interleaved = candidate.plan
        assert stage.windows is not None
        block = fuse(Block.of(stage.windows), p.outer, p.inner)
        *outside, axis = (x for x, _ in block.loops)
        shared = stage.work >= stage.target.parallel_updates and not stage.serial
        segments = period_segments(p.extent, stage.lanes, p.period)
        parts = []
        for first, count, width, vectors in segments:
            with part(len(segments)):
                (b,) = loop_partition(block, axis, [(first, first + count * width * vectors)])
                b = split(b, b.over(axis)[0], [count, vectors, width], [f"{p.axis}_{s}" for s in "ouv"])
                turns, several, lane = b.over(axis)
                b = reorder(b, [*outside, turns, several, lane])
                b = unroll(cache_write(b, several), several)
                b = vectorize(b, lane) if width > 1 else b
                if math.prod(n for _, n in b.inner) <= WRITTEN_OUT:
                    for k, n in b.inner:
                        b = unroll(b, k) if n > 1 else b
                b = drop_unit_loops(b)
                parts.append(parallel(b, b.outside[0][0]) if shared and b.outside else b)
        return lower_all(parts, stage.target)


def _interleaved(stage: Stage) -> Interleaved | None:
    """The fused axis of windows over one operand, whose results are contiguous along the last two axes, and whose reads are
    periodic.

    None for other windows.
    """
    r = stage.windows
    assert r is not None
    if len(r.loops) < 2 or not r.inner:
        return None
    (outer, _), (inner, channels) = r.loops[-2:]
    if not 1 < channels < stage.lanes or any(depends(g, v) for g in r.guards for v in (outer, inner)):
        return None
    with untraced():
        fused = fuse(Block.of(r), outer, inner).result()
    assert isinstance(fused, Reduction)
    axis, extent = fused.loops[-1]
    simplify = simplifier(fused.loops, fused.inner)
    if any(stride(simplify, s.buffer.offset(s.indices), axis) != 1 for s in fused.stores) or extent < stage.lanes:
        return None
    positions = offsets(fused)
    other_operands = epilogue_operands(fused)
    if len(positions) != 1 or other_operands or stride(simplify, positions[0], axis) is not None:
        return None
    period = vectors_of_period(positions[0], axis, (*fused.loops, *fused.inner), stage.lanes)
    return Interleaved(outer, inner, axis.name, extent, period) if period else None
