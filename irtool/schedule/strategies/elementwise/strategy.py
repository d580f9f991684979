"""Elementwise stages: loops fused if memory allows, the contiguous one in vectors.

    for i, j: out[i, j] = f(x[i, j])    ⇒    for ij_o: out[ij_o*8 : ij_o*8 + 8] = f(x[…]), and the remaining elements

If conditions on that loop choose an operand (padding, concatenation), it is cut into loops without them; if they are on a loop
around it, too (blocks of channels with a part of one operand and a part of another), that loop is cut first. If offsets are
irregular but repeat (an image enlarged to nearest neighbours), the vectors of a period are unrolled. If the loop is shorter than
a vector (three interleaved channels), it is fused with the one around it, if that gives such vectors. If conditions change from lane to lane (phases that interleave, padding of short rows), both of
their values are computed. Rows that share reads are
computed together (see `shared_reads`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ....symbolic_int import SymbolicInt, bound
from ....tir import dtypes
from ....tir.expr import Call, Cast, Expr, Load, Var, children, post_order
from ....tir.stmt import Stmt
from ....tir.vector_target import VectorTarget
from ...core.affine import loads
from ...core.block import Block
from ...core.float16_lanes import native_lanes
from ...core.forms import Map
from ...core.nest import lower_all
from ...core.strip_mine import period_segments
from ...cost.map_cycles import scalar_cycles, vector_cycles
from ...primitives import fuse, if_convert, loop_partition, parallel, part, reorder, split, unroll, vectorize
from ..base import Candidate, Stage, Strategy, strategy
from .vector_loops import Ranges, Vectors, choose_ranges, choose_vectors


@strategy("elementwise")
class Elementwise(Strategy):
    """Vectors along the contiguous loop of the first store; other loops outside, the outermost in parallel."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None:
            return None
        lanes = _lanes(stage)
        chosen = _vectors(stage.map, lanes) if lanes > 1 else None
        how = "vectors along the contiguous axis" if stage.target.vector_bytes else "loops fused"
        if chosen is None:
            return Candidate(scalar_cycles(stage.map), how)
        along, channels = (chosen.along, chosen.channels) if isinstance(chosen, Vectors) else (chosen.loop, 0)
        how = "vectors of each channel" if channels else how
        return Candidate(vector_cycles(stage.map, along, lanes, stage.target, channels), how, chosen)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return lower_all(self.parts(stage, candidate), stage.target)

    def parts(self, stage: Stage, candidate: Candidate) -> list[Block[Map]]:
        """The stage in parts: vectors, and the remaining elements."""
        assert stage.map is not None
        block = Block.of(stage.map)
        if not isinstance(candidate.plan, Ranges):
            return self._in_vectors(stage, block, candidate.plan)
        parts = []
        ranges = candidate.plan.ranges
        for over, vectors in ranges.items():
            with part(len(ranges)):
                (b,) = loop_partition(block, candidate.plan.loop, [over])
                parts += self._in_vectors(stage, b, vectors)
        return parts

    def _in_vectors(self, stage: Stage, block: Block[Map], plan: Vectors | None) -> list[Block[Map]]:
        shared = stage.work >= stage.target.parallel_elements and not stage.serial
        if plan is None:
            return [parallel(block, block.loops[0][0]) if shared and block.loops else block]
        v, cuts = plan.along, plan.cuts
        if plan.is_fused:
            block = fuse(block, block.loops[-2][0], block.loops[-1][0])
            v, _ = block.loops[-1]
        block = if_convert(block, v) if plan.is_converted else block
        block = reorder(block, [*(x for x, _ in block.loops if x is not v), v])
        several = None
        if plan.rows is not None:
            row, count = plan.rows
            extent = dict(block.loops)[row]
            if extent > count:
                block = split(block, row, [extent // count, count], [f"{row.name}_o", f"{row.name}_t"])
            several = block.over(row)[-1]
        parts = []
        segments = [
            (begin + first, count, width, vectors)
            for begin, end in pairwise(cuts)
            for first, count, width, vectors in _segments(end - begin, stage, plan)
        ]
        for first, count, width, vectors in segments:
            with part(len(segments)):
                b, _, lane = split_vectors(block, v, (first, count, width), vectors)
                if several is not None:
                    own = b.over(v)
                    moved = {*own, several}
                    outside = [x for x, _ in b.loops if x not in moved]
                    b = unroll(reorder(b, [*outside, *own[:-1], several, lane]), several)
                b = vectorize(b, lane) if width > 1 else b
                outermost = b.loops[0][0]
                is_split = outermost is not lane and outermost is not several
                parts.append(parallel(b, outermost) if shared and is_split else b)
        return parts


def _vectors(m: Map, lanes: int) -> Vectors | Ranges | None:
    """The vectors of a map, those of ranges of a loop, or those that compute both values of each condition."""
    return choose_vectors(m, lanes) or choose_ranges(m, lanes) or choose_vectors(m, lanes, is_converted=True)


def _segments(extent: int, stage: Stage, plan: Vectors) -> list[tuple[int, int, int, int]]:
    """The steps of a part, as for `period_segments`.

    If results may be computed twice, the last vector of a row overlaps the one before, unless narrower vectors leave no single
    elements.
    """
    lanes = _lanes(stage)
    is_row = stage.map is not None and len(stage.map.loops) > 1 + plan.is_fused
    is_constant = not isinstance(extent, SymbolicInt)
    if (
        is_row
        and is_constant
        and stage.may_repeat
        and len(plan.cuts) == 2
        and plan.period == 1
        and extent > lanes
        and extent % 4
    ):
        return [(0, extent // lanes, lanes, 1), (extent - lanes, 1, lanes, 1)]
    return period_segments(extent, lanes, plan.period)


def split_vectors(
    b: Block[Map], axis: Var, segment: tuple[int, int, int], unrolled: int = 1
) -> tuple[Block[Map], tuple[Var, ...], Var]:
    """A segment `(first, vectors, lanes)` of an axis: the block, the loop over its vectors, if there are several, and the loop
    over lanes.

    Each step has `unrolled` vectors one after the other.
    """
    first, count, width = segment
    (b,) = loop_partition(b, axis, [(first, first + count * width * unrolled)])
    (loop,) = b.over(axis)
    parts = [(count, "o"), (unrolled, "u"), (width, "v")]
    split_parts = [(n, suffix) for n, suffix in parts if n != 1 or suffix == "v"]
    b = split(b, loop, [n for n, _ in split_parts], [f"{axis.name}_{suffix}" for _, suffix in split_parts])
    *vectors, lane = b.over(axis)
    b = unroll(b, vectors[-1]) if unrolled > 1 else b
    return b, tuple(vectors), lane


def vector_lanes(stage: Stage) -> int:
    """Elements of a vector for a map; 1 if the kernel computes its elements one by one, each with its row."""
    assert stage.map is not None
    if stage.work == bound(stage.rows):
        return 1
    return native_lanes((s.value for s in stage.map.stores), stage.target) or stage.target.lanes(_widest(stage.map))


def _widest(m: Map) -> int:
    """Bytes of the widest numbers in the arithmetic, at least 4: narrower ones fill a part of a register. 64-bit integers that
    are converted to shorter ones are computed in two registers."""
    widest = 4
    seen: set[tuple[Expr, bool]] = set()
    stack: list[tuple[Expr, bool]] = [(s.value, False) for s in m.stores]
    while stack:
        e, becomes_short = stack.pop()
        if (e, becomes_short) not in seen:
            seen.add((e, becomes_short))
            becomes_short = becomes_short or (isinstance(e, Cast) and dtypes.itemsize(e.dtype) <= widest)
            if not (becomes_short and e.dtype == "int64"):
                widest = max(widest, dtypes.itemsize(e.dtype))
            stack.extend((k, becomes_short) for k in (() if isinstance(e, Load) else children(e)))
    return widest


def _lanes(stage: Stage) -> int:
    """Elements of a vector; a copy fills the vector with its elements, and one of several streams is not the widest."""
    lanes = vector_lanes(stage)
    assert stage.map is not None
    if stage.target.halves_vectors and _is_of_streams(stage.map, stage.target):
        return max(1, lanes // 2)  # 6 to 8 % faster: sums and maxima of two arrays of 4 MB, Zen 4, 2026-11-30
    if lanes < 2 or not all(isinstance(s.value, Load) for s in stage.map.stores):
        return lanes
    widest = max(dtypes.itemsize(d) for s in stage.map.stores for d in (s.buffer.dtype, s.value.dtype))
    return stage.target.lanes(widest)


def _is_of_streams(m: Map, target: VectorTarget) -> bool:
    """True if a map does little but read several operands from behind the second cache."""
    values = [s.value for s in m.stores]
    operands = dict.fromkeys(loads(*values))
    arrays = [*(e.source for e in operands), *(s.buffer for s in m.stores)]
    elements = bound(math.prod(n for _, n in m.loops))
    if len(operands) < 2 or any(bound(b.size) != elements for b in arrays):
        return False
    if any(isinstance(e, Call) for e in post_order(*values)):
        return (
            False  # a function such as exp or pow is dozens of instructions, of which half vectors take twice as many
        )
    return _operations(values) <= len(operands) and sum(bound(b.nbytes) for b in arrays) > target.l2_cache_bytes


def _operations(values: Sequence[Expr]) -> int:
    """The operations of formulas, without those of indices."""
    seen = {*values}
    stack = [*values]
    while stack:
        e = stack.pop()
        inner = [] if isinstance(e, Load) else [k for k in children(e) if k not in seen]
        seen.update(inner)
        stack += inner
    return sum(1 for e in seen if children(e) and not isinstance(e, Load))
