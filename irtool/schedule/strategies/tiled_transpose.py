"""Element-by-element nests with a transposed operand, a square at a time.

    for i, j: out[i, j] = f(x[j, i])

    ⇒   for squares:
          for j, i: transposed[j, i] = x[j, i]          (vectors along i)
          for i, j: out[i, j] = f(transposed[j, i])     (vectors along j)

Every line of memory is read and written at once, not one element of it at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from ...tir.expr import Load, Select, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import Stmt
from ..affine import loads, simplifier, stride
from ..block import Block
from ..forms import Loop, Map
from ..nest import lower_all
from ..primitives import cache_read, parallel, part, reorder, vectorize
from ..segments import vector_segments
from .base import Candidate, Stage, Strategy, strategy
from .elementwise import split_vectors, vector_lanes

_LEAST = 4
"""Elements along an axis that are worth a square."""


@dataclass(frozen=True)
class Axes:
    """The loop along which results are contiguous, and the one along which some operand is that moves with both."""

    written: Loop
    read: Loop


def choose_axes(m: Map) -> Axes | None:
    """The axes that change places; None if there are none, or a condition decides what is read."""
    values = [s.value for s in m.stores]
    if any(isinstance(e, Select) and e.lazy for e in post_order(*values)):
        return None
    simplify = simplifier(m.loops)
    for v, n in m.loops:
        if n < _LEAST or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        for w, k in m.loops:
            if w is not v and k >= _LEAST and any(_is_transposed(simplify, e, v, w) for e in loads(*values)):
                return Axes((v, n), (w, k))
    return None


def _is_transposed(simplify: Simplifier, e: Load, written: Var, read: Var) -> bool:
    place = e.source.offset(e.indices)
    step = stride(simplify, place, written)
    return step is not None and step >= _LEAST and stride(simplify, place, read) == 1


@strategy("tiled_transpose")
class TiledTranspose(Strategy):
    """Squares of a vector's elements each way."""

    plevel = 20

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None or vector_lanes(stage) < 2:
            return None
        axes = choose_axes(stage.map)
        return Candidate(1, "vectors along the contiguous axis", axes) if axes is not None else None

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return lower_all(self.parts(stage, candidate), stage.target)

    def parts(self, stage: Stage, candidate: Candidate) -> list[Block[Map]]:
        """The stage in parts: squares, and what is left at two edges."""
        m, lanes = stage.map, vector_lanes(stage)
        assert m is not None
        (v, n), (w, k) = candidate.plan.written, candidate.plan.read
        simplify = simplifier(m.loops)
        operands = [e for e in dict.fromkeys(loads(*(s.value for s in m.stores))) if _is_transposed(simplify, e, v, w)]
        block = Block.of(m)
        others = [x for x, _ in m.loops if x is not v and x is not w]
        parts = []
        squares = list(product(vector_segments(n, lanes), vector_segments(k, lanes)))
        for written, read in squares:
            with part(len(squares)):
                b, v_o, v_v = split_vectors(block, v, written)
                b, w_o, w_v = split_vectors(b, w, read)
                b = reorder(b, [*others, *v_o, *w_o, w_v, v_v])
                if written[2] > 1 and read[2] > 1:
                    for e in operands:
                        b = cache_read(b, e, [v_v, w_v], name="transposed")
                b = vectorize(b, v_v) if written[2] > 1 else b
                if stage.work >= stage.target.parallel_elements and not stage.serial and len(b.loops) > 2:
                    b = parallel(b, b.loops[0][0])
                parts.append(b)
        return parts
