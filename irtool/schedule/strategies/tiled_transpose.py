"""Element-by-element nests with a transposed operand, a square at a time.

    for i, j: out[i, j] = f(x[j, i])

    ⇒   for squares:
          for i, j: transposed[i, j] = x[j, i]          (in registers, see `backends.vectors.squares`)
          for i, j: out[i, j] = f(transposed[i, j])     (vectors along j)

Every line of memory is read and written at once, not one element of it at a time. What is only transposed needs no copy. The
longer axis is inside: along it, one operand is read, or the other written, line after line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ...tir import dtypes
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
        m = stage.map
        assert m is not None
        (v, n), (w, k) = candidate.plan.written, candidate.plan.read
        operands = _transposed(m, v, w)
        is_copy = len(m.stores) == 1 and m.stores[0].value is operands[0]
        block = Block.of(m)
        others = [x for x, _ in m.loops if x is not v and x is not w]
        shared = stage.work >= stage.target.parallel_elements and not stage.serial
        parts = []
        squares = _squares(stage, n, k, _side(stage, n, k, operands, is_copy))
        for written, read in squares:
            with part(len(squares)):
                b, v_o, v_v = split_vectors(block, v, written)
                b, w_o, w_v = split_vectors(b, w, read)
                squares_of = [*w_o, *v_o] if n >= k else [*v_o, *w_o]
                b = reorder(b, [*others, *squares_of, w_v, v_v])
                if not is_copy and written[2] == read[2] > 1:
                    for e in operands:
                        b = cache_read(b, e, [w_v, v_v], name="transposed")
                b = vectorize(b, v_v) if written[2] > 1 else b
                if shared and len(b.loops) > 2:
                    b = parallel(b, b.loops[0][0])
                parts.append(b)
        return parts


def _transposed(m: Map, v: Var, w: Var) -> list[Load]:
    """The operands that lie along `w` where results lie along `v`."""
    simplify = simplifier(m.loops)
    return [e for e in dict.fromkeys(loads(*(s.value for s in m.stores))) if _is_transposed(simplify, e, v, w)]


def _side(stage: Stage, n: int, k: int, operands: Sequence[Load], is_copy: bool) -> int:
    """The side of squares: a vector's elements, fewer where an axis has not as many."""
    side = vector_lanes(stage)
    if is_copy:  # nothing is computed with the elements: what is narrow fills vectors of 16 bytes at least
        side = max(side, 16 // dtypes.itemsize(operands[0].dtype))
    while side > min(n, k):
        side //= 2
    return side


Segment = tuple[int, int, int]
"""The first step of an axis, how many vectors, and of how many elements."""


def _squares(stage: Stage, n: int, k: int, side: int) -> list[tuple[Segment, Segment]]:
    """The parts of both axes. Squares at the ends overlap those before, if results may be made twice."""
    if stage.may_repeat:
        return list(product(_overlapping(n, side), _overlapping(k, side)))
    return list(product(vector_segments(n, side), vector_segments(k, side)))


def _overlapping(extent: int, side: int) -> list[Segment]:
    whole = [(0, extent // side, side)]
    return [*whole, (extent - side, 1, side)] if extent % side else whole
