"""Element-by-element nests with a transposed operand, a square at a time.

    for i, j: out[i, j] = f(x[j, i])

    ⇒   for squares:
          for i, j: transposed[i, j] = x[j, i]          (in registers, see `backends.vectors.squares`)
          for i, j: out[i, j] = f(transposed[i, j])     (vectors along j)

Every line of memory is read and written at once, not one element of it at a time. What is only transposed needs no copy. The
longer axis is inside: along it, one operand is read, or the other written, line after line. Of long rows some lines are read one
after the other before the next rows: each row has pages of its own, and the processor fetches lines in advance that follow others.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...tir import dtypes
from ...tir.expr import Load, Select, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import Stmt
from ..affine import loads, simplifier, stride
from ..block import Block
from ..forms import Loop, Map
from ..nest import lower_all
from ..primitives import cache_read, parallel, part, reorder, split, vectorize
from ..segments import vector_segments
from .base import Candidate, Stage, Strategy, strategy
from .elementwise import is_interleaved, split_vectors, vector_lanes

_LEAST = 4
"""Elements along an axis that are worth a square."""
_LEAST_BYTES = 8
"""Bytes along an axis that are."""
_SHORT = 16
"""Squares along the axis that is read for which it is short."""
_STRIP = 16
"""Squares side by side that are made before those of the next rows, at most."""
_NARROWER = 0.3
"""The cost of squares half as wide is two to this power."""


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
            if w is v or k < _LEAST:
                continue
            turned = [e for e in loads(*values) if _is_transposed(simplify, e, v, w)]
            if is_interleaved(m, n):
                continue
            if any(min(n, k) * dtypes.itemsize(e.dtype) >= _LEAST_BYTES for e in turned):
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
        size = dtypes.itemsize(operands[0].dtype) if is_copy else 0
        side = _side(stage, n, k, size)
        rows, columns = _segments(stage, n, k, side, size)
        # Short rows are read whole, all squares of them.
        is_short = k <= _SHORT * side
        along_rows = n < k or (len(columns) > 1 and is_short)
        parts = []
        for written in rows:
            with part(len(rows)):
                within, v_o, v_v = split_vectors(block, v, written)
                for read in columns:
                    with part(len(columns)):
                        b, w_o, w_v = split_vectors(within, w, read)
                        outer, inner = (v_o, w_o) if along_rows else (w_o, v_o)
                        count = (written if along_rows else read)[1]
                        strip = _strip(count) if inner and not is_short else 0
                        if strip:
                            b = split(b, outer[0], [count // strip, strip], ["strip", outer[0].name])
                            across, within_strip, _ = b.over(v if along_rows else w)
                            b = reorder(b, [*others, across, *inner, within_strip, w_v, v_v])
                        else:
                            b = reorder(b, [*others, *outer, *inner, w_v, v_v])
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


def _side(stage: Stage, n: int, k: int, size: int) -> int:
    """The side of squares: a vector's elements, fewer where an axis has not as many. A copy of elements of `size` bytes (0: no
    copy) fills vectors of 16 bytes at least, as wide as leaves little to be copied twice."""
    most = vector_lanes(stage)
    if size:  # nothing is computed with the elements
        most = max(stage.target.vector_bytes // size, 16 // size)
    sides = [most >> halved for halved in range(most.bit_length()) if most >> halved <= min(n, k)]
    if not size or not stage.may_repeat:
        return sides[0]
    least = min(sides[0], max(_LEAST, 16 // size))

    def cost(side: int) -> float:
        """Elements that are copied, and those that are copied again."""
        columns, rows = (sum(c * w for _, c, w in ends) for ends in (_overlapping(n, side), _halved(k, side, size)))
        return columns * rows * (sides[0] / side) ** _NARROWER

    return min((x for x in sides if x >= least), key=cost)


def _strip(count: int) -> int:
    """How many of so many squares along rows are side by side in a strip; 0 where all of them are few, or no number divides them."""
    return next((n for n in range(_STRIP, 1, -1) if count % n == 0), 0) if count > _STRIP else 0


Segment = tuple[int, int, int]
"""The first step of an axis, how many vectors, and of how many elements."""


def _segments(stage: Stage, n: int, k: int, side: int, size: int) -> tuple[list[Segment], list[Segment]]:
    """The parts of both axes. Squares at the ends overlap those before, if results may be made twice."""
    if stage.may_repeat:
        return _overlapping(n, side), _halved(k, side, size)
    return vector_segments(n, side), vector_segments(k, side)


def _overlapping(extent: int, side: int) -> list[Segment]:
    whole = [(0, extent // side, side)]
    return [*whole, (extent - side, 1, side)] if extent % side else whole


def _halved(extent: int, side: int, size: int) -> list[Segment]:
    """The axis that is read: half a square is enough for what half a vector holds."""
    *whole, last = _overlapping(extent, side)
    if whole and size >= 4 and side * size > 16 and 0 < extent % side <= side // 2:
        last = (extent - side // 2, 1, side // 2)
    return [*whole, last]
