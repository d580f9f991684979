"""Element-by-element nests whose operand has a few channels side by side, and whose results have them apart.

    for c in 3: for i: out[c, i] = f(x[3*i + c])

    ⇒   for i_o: for c in 3 (unrolled): out[c, 16*i_o : 16*i_o + 16] = f(x[48*i_o + c : … : 3])    (vectors along i)

The operand is read once: the vectors that one channel is picked from are those of all channels (see `backends.vectors.channels`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tir import dtypes
from ....tir.expr import Load, Select, post_order
from ....tir.stmt import Stmt
from ...core.affine import loads, simplifier, stride
from ...core.block import Block
from ...core.forms import Loop, Map
from ...core.nest import lower_all
from ...core.strip_mine import vector_segments
from ...cost.machine import FEWEST_LANES
from ...cost.map_cycles import channel_cycles
from ...primitives import parallel, part, reorder, unroll, vectorize
from ..base import Candidate, Stage, Strategy, strategy
from ..elementwise.strategy import split_vectors, vector_lanes


@dataclass(frozen=True)
class Axes:
    """The loop along which results are contiguous, and that over channels, along which operands are; `lanes` of a vector."""

    written: Loop
    channels: Loop
    lanes: int


@strategy("deinterleave")
class Deinterleave(Strategy):
    """Vectors of each channel from the same vectors of an operand."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None or vector_lanes(stage) < 2:
            return None
        axes = _choose_axes(stage, stage.map)
        if axes is None:
            return None
        return Candidate(channel_cycles(axes.channels[1], axes.lanes, stage.target), "vectors of each channel", axes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return lower_all(self.parts(stage, candidate), stage.target)

    def parts(self, stage: Stage, candidate: Candidate) -> list[Block[Map]]:
        """The stage in parts: vectors, and the elements that are left, which overlap those before if they may be made twice."""
        assert stage.map is not None
        axes: Axes = candidate.plan
        (v, extent), (w, _) = axes.written, axes.channels
        block = Block.of(stage.map)
        others = [x for x, _ in stage.map.loops if x is not v and x is not w]
        shared = stage.work >= stage.target.parallel_elements and not stage.serial
        segments = vector_segments(extent, axes.lanes)
        if stage.may_repeat and extent % axes.lanes:
            segments = [segments[0], (extent - axes.lanes, 1, axes.lanes)]
        parts = []
        for segment in segments:
            with part(len(segments)):
                b, v_o, lane = split_vectors(block, v, segment)
                b = reorder(b, [*others, *v_o, w, lane])
                b = vectorize(unroll(b, w), lane) if segment[2] > 1 else b
                first = b.loops[0][0]
                parts.append(parallel(b, first) if shared and first is not w else b)
        return parts


def _choose_axes(stage: Stage, m: Map) -> Axes | None:
    """The axes, if there are some, and no condition decides what is read."""
    values = [s.value for s in m.stores]
    if any(isinstance(e, Select) and e.lazy for e in post_order(*values)):
        return None
    simplify = simplifier(m.loops)
    reads = [(e, e.source.offset(e.indices)) for e in loads(*values)]
    is_copy = all(isinstance(x, Load) for x in values)
    for v, n in m.loops:
        if any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        strided = [(e, place) for e, place in reads if stride(simplify, place, v) not in (0, 1)]
        for w, k in m.loops:
            if w is v or not 1 < k <= FEWEST_LANES or not strided:
                continue
            if any((stride(simplify, p, v), stride(simplify, p, w)) != (k, 1) for _, p in strided):
                continue
            narrowest = min(dtypes.itemsize(e.dtype) for e, _ in strided)
            if k == FEWEST_LANES and narrowest >= 4:  # squares of four by four
                continue
            lanes = max(stage.target.vector_bytes, 16) // narrowest if is_copy else vector_lanes(stage)
            while lanes > n:
                lanes //= 2
            if lanes > 1:
                return Axes((v, n), (w, k), lanes)
    return None
