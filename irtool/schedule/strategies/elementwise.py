"""Formulas, element by element: loops fused where memory allows, the contiguous one in vectors.

    for i, j: out[i, j] = f(x[i, j])    ⇒    for ij_o: out[ij_o*8 : ij_o*8 + 8] = f(x[…]), and the elements that are left

Where conditions on that loop choose what is read (padding, concatenation), it is cut into loops without them.
"""

from __future__ import annotations

from itertools import pairwise

from ...tir import dtypes
from ...tir.expr import Expr, Load, Var, children
from ...tir.stmt import Stmt
from ..affine import loads, simplifier, stride
from ..block import Block
from ..forms import Map
from ..guards import changes
from ..nest import lower_all
from ..primitives import loop_partition, parallel, part, reorder, split, vectorize
from ..segments import vector_segments
from .base import Candidate, Stage, Strategy, strategy


@strategy("elementwise")
class Elementwise(Strategy):
    """Vectors along the loop in which the first store is contiguous; other loops outside, the outermost in parallel."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None:
            return None
        lanes = vector_lanes(stage)
        chosen = _vector_loop(stage.map) if lanes > 1 else None
        how = "vectors along the contiguous axis" if stage.target.vector_bytes else "loops fused"
        return Candidate(1 / lanes if chosen else 1, how, chosen)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return lower_all(self.parts(stage, candidate), stage.target)

    def parts(self, stage: Stage, candidate: Candidate) -> list[Block[Map]]:
        """The stage in parts: vectors, and the elements that are left."""
        m = stage.map
        assert m is not None
        shared = stage.work >= stage.target.parallel_elements and not stage.serial
        block = Block.of(m)
        if candidate.plan is None:
            return [parallel(block, m.loops[0][0]) if shared and m.loops else block]
        v, cuts = candidate.plan
        block = reorder(block, [*(x for x, _ in m.loops if x is not v), v])
        parts = []
        segments = [
            (begin + first, count, width)
            for begin, end in pairwise(cuts)
            for first, count, width in vector_segments(end - begin, vector_lanes(stage))
        ]
        for first, count, width in segments:
            with part(len(segments)):
                b, _, lane = split_vectors(block, v, (first, count, width))
                b = vectorize(b, lane) if width > 1 else b
                parts.append(parallel(b, b.loops[0][0]) if shared and len(b.loops) > 1 else b)
        return parts


def split_vectors(b: Block[Map], axis: Var, segment: tuple[int, int, int]) -> tuple[Block[Map], tuple[Var, ...], Var]:
    """A segment `(first, vectors, lanes)` of an axis: the block, the loop over its vectors, if there are several, and the one
    over the elements of a vector."""
    first, count, width = segment
    (b,) = loop_partition(b, axis, [(first, first + count * width)])
    names = [f"{axis.name}_o", f"{axis.name}_v"]
    (loop,) = b.over(axis)
    b = split(b, loop, [count, width], names) if count > 1 else split(b, loop, [width], names[1:])
    *vectors, lane = b.over(axis)
    return b, tuple(vectors), lane


def vector_lanes(stage: Stage) -> int:
    """Elements of a vector for a map; 1 where its elements are made one by one, each with the row that it belongs to."""
    assert stage.map is not None
    return 1 if stage.work == stage.rows else stage.target.lanes(_widest(stage.map))


def _widest(m: Map) -> int:
    """Bytes of the widest numbers that are computed with, at least 4: what is narrower fills a part of a register."""
    widest = 4
    seen: set[Expr] = set()
    stack: list[Expr] = [s.value for s in m.stores]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen.add(e)
            widest = max(widest, dtypes.itemsize(e.dtype))
            stack.extend(() if isinstance(e, Load) else children(e))
    return widest


def _vector_loop(m: Map) -> tuple[Var, list[int]] | None:
    """The loop along which every store is contiguous and every read contiguous or constant (or in even steps), and the steps
    from which on other conditions hold, its beginning and end among them."""
    best: tuple[int, Var, list[int]] | None = None
    simplify = simplifier(m.loops)
    for v, extent in m.loops:
        if extent < 4 or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        strides = [stride(simplify, e.source.offset(e.indices), v) for e in loads(*(s.value for s in m.stores))]
        cuts = changes(simplify, [s.value for s in m.stores], v, extent)
        if cuts is None or any(s is None for s in strides):
            continue
        cost = sum(1 for s in strides if s not in (0, 1))
        if best is None or cost < best[0]:
            best = (cost, v, cuts)
    return best[1:] if best is not None else None
