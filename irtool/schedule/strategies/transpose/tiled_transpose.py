"""Elementwise nests with a transposed operand, a square at a time.

    for i, j: out[i, j] = f(x[j, i])

    ⇒   for squares:
          for i, j: transposed[i, j] = x[j, i]          (in registers, see `selection.vectors.squares`)
          for i, j: out[i, j] = f(transposed[i, j])     (vectors along j)

Every cache line is read and written at once, not one element of it at a time. A plain transpose needs no copy. `transpose_order`
chooses the order of the squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....symbolic_int import bound
from ....tir import dtypes
from ....tir.expr import Load, Select, Var, post_order
from ....tir.simplify import Simplifier
from ....tir.stmt import Stmt
from ...core.affine import loads, simplifier, stride
from ...core.block import Block
from ...core.forms import Loop, Map
from ...core.nest import lower_all
from ...cost.machine import FEWEST_LANES, NARROW_SQUARES, NARROWEST_VECTOR
from ...cost.map_cycles import square_cycles
from ...primitives import cache_read, parallel, part, reorder, split, vectorize
from ..base import Candidate, Stage, Strategy, strategy
from ..elementwise.strategy import split_vectors, vector_lanes
from ..elementwise.vector_loops import is_interleaved
from .transpose_order import Moved, choose_order, widths
from .transpose_tiles import Squares, in_groups, in_strips, squares_of


@dataclass(frozen=True)
class Axes:
    """The loop along which results are contiguous, and the one along which an operand is contiguous that depends on both."""

    written: Loop
    read: Loop


def choose_axes(m: Map) -> Axes | None:
    """The axes that are exchanged; None without such axes, or if a condition decides which element is read."""
    values = [s.value for s in m.stores]
    if any(isinstance(e, Select) and e.lazy for e in post_order(*values)):
        return None
    simplify = simplifier(m.loops)
    for v, n in m.loops:
        if bound(n) < FEWEST_LANES or any(stride(simplify, s.buffer.offset(s.indices), v) != 1 for s in m.stores):
            continue
        for w, k in m.loops:
            if w is v or bound(k) < FEWEST_LANES:
                continue
            transposed = [e for e in loads(*values) if _is_transposed(simplify, e, v, w)]
            if is_interleaved(m, n):
                continue
            if any(min(bound(n), bound(k)) * dtypes.itemsize(e.dtype) >= NARROWEST_VECTOR // 2 for e in transposed):
                return Axes((v, n), (w, k))
    return None


def _is_transposed(simplify: Simplifier, e: Load, written: Var, read: Var) -> bool:
    place = e.source.offset(e.indices)
    step = stride(simplify, place, written)
    return step is not None and bound(step) >= FEWEST_LANES and stride(simplify, place, read) == 1


@strategy("tiled_transpose")
class TiledTranspose(Strategy):
    """Squares with as many rows and columns as a vector has elements."""

    def choose(self, stage: Stage) -> Candidate | None:
        if stage.map is None or vector_lanes(stage) < 2:
            return None
        axes = choose_axes(stage.map)
        if axes is None:
            return None
        side = min(vector_lanes(stage), bound(axes.written[1]), bound(axes.read[1]))
        return Candidate(square_cycles(side, stage.target), "vectors along the contiguous axis", axes)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        return lower_all(self.parts(stage, candidate), stage.target)

    def parts(self, stage: Stage, candidate: Candidate) -> list[Block[Map]]:
        """The stage in parts: squares, and the tails at two edges."""
        m = stage.map
        assert m is not None
        (v, n), (w, k) = candidate.plan.written, candidate.plan.read
        operands = _transposed(m, v, w)
        is_copy = len(m.stores) == 1 and m.stores[0].value is operands[0]
        others = [x for x, _ in m.loops if x is not v and x is not w]
        shared = stage.work >= stage.target.parallel_elements and not stage.serial
        side = _side(stage, n, k, dtypes.itemsize(operands[0].dtype) if is_copy else 0)
        moved = _moved(m, operands[0], candidate.plan)
        order = choose_order(moved, side, stage.target)
        columns = [x for x in widths(side, moved.size) if x <= order.columns] if is_copy else [side]
        rows = squares_of(n, [side], stage.may_repeat)
        read = squares_of(k, columns, stage.may_repeat)
        if order.is_along_written:
            inside, outside, squares = v, w, {v: in_strips(rows, order.strip), w: in_groups(read, order.group)}
        else:
            inside, outside, squares = w, v, {w: in_strips(read, order.strip), v: in_groups(rows, order.group)}
        # Parts share the loops of the axis that is split first: strips, if there are several.
        has_strips = any(p.strip != p.count for p in squares[inside])
        first, second = (inside, outside) if has_strips else (outside, inside)
        parts = []
        for p in squares[first]:
            with part(len(squares[first])):
                within, loops = _split_squares(Block.of(m), first, p)
                for q in squares[second]:
                    with part(len(squares[second])):
                        b, more = _split_squares(within, second, q)
                        of = {first: loops, second: more}
                        height, width = (p.size, q.size) if first is v else (q.size, p.size)
                        if first is w and len(squares[v]) > 1:  # the rows of a square are its own
                            b = split(b, b.over(w)[-1], [width], [f"{w.name}_v"])
                        (w_v,), (v_v,) = b.over(w)[-1:], b.over(v)[-1:]
                        strips, steps = of[inside].strips, [*of[outside].groups, *of[inside].groups]
                        b = reorder(b, [*others, *strips, *steps, *of[outside].squares, w_v, v_v])
                        if not is_copy and height == width > 1:
                            for e in operands:
                                b = cache_read(b, e, [w_v, v_v], name="transposed")
                        b = vectorize(b, v_v) if height > 1 else b
                        if shared and len(b.loops) > 2:
                            b = parallel(b, b.loops[0][0])
                        parts.append(b)
        return parts


@dataclass(frozen=True)
class Levels:
    """The loops over an axis in squares, each of them absent or present: over strips, over groups, over the squares of a
    group."""

    strips: list[Var]
    groups: list[Var]
    squares: list[Var]


def _split_squares(b: Block[Map], axis: Var, p: Squares) -> tuple[Block[Map], Levels]:
    """A part of an axis in squares."""
    b, over, _ = split_vectors(b, axis, (p.first, p.count, p.size))
    names = ["strip", f"{axis.name}_o", f"{axis.name}_g"]
    split_loops = [(extent, name) for extent, name in zip(p.loops, names, strict=True) if extent != 1]
    if len(split_loops) > 1:
        b = split(b, over[0], [extent for extent, _ in split_loops], [name for _, name in split_loops])
    loops = iter(b.over(axis))
    return b, Levels(*([next(loops)] if extent != 1 else [] for extent in p.loops))


def _moved(m: Map, operand: Load, axes: Axes) -> Moved:
    """The size of the transposed elements, and the strides of rows; 0 for irregular ones."""
    simplify = simplifier(m.loops)
    size, store = dtypes.itemsize(operand.dtype), m.stores[0]
    down = stride(simplify, store.buffer.offset(store.indices), axes.read[0]) or 0
    rows = stride(simplify, operand.source.offset(operand.indices), axes.written[0]) or 0
    total = math.prod(extent for _, extent in m.loops) * size
    return Moved(size, total, down * dtypes.itemsize(store.buffer.dtype), rows * size)


def _transposed(m: Map, v: Var, w: Var) -> list[Load]:
    """The operands that are contiguous along `w` while results are contiguous along `v`."""
    simplify = simplifier(m.loops)
    return [e for e in dict.fromkeys(loads(*(s.value for s in m.stores))) if _is_transposed(simplify, e, v, w)]


def _side(stage: Stage, n: int, k: int, size: int) -> int:
    """The rows of squares: the elements of a vector, or fewer for a short axis.

    A copy of elements of `size` bytes (0: no copy) fills vectors of at least 16 bytes, of the width that leaves little to be
    copied twice.
    """
    if not size:  # the elements are operands of arithmetic
        return _halved(vector_lanes(stage), min(bound(n), bound(k)))[0]
    most = max(stage.target.vector_bytes, NARROWEST_VECTOR) // size
    sides = [x for x in _halved(most, n) if widths(x, size)[-1] <= bound(k)]
    if not stage.may_repeat:
        return _halved(most, min(bound(n), bound(k)))[0]
    least = min(sides[0], max(FEWEST_LANES, NARROWEST_VECTOR // size))

    def cost(side: int) -> float:
        """The number of copied elements, with those that are copied again, weighted by the width."""
        rows, columns = squares_of(n, [side], overlap=True), squares_of(k, widths(side, size), overlap=True)
        copied = [sum(p.count * p.size for p in parts) for parts in (rows, columns)]
        return math.prod(copied) * (sides[0] / side) ** NARROW_SQUARES

    return min((x for x in sides if x >= least), key=cost)


def _halved(most: int, extent: int) -> list[int]:
    """The elements of a vector, half of them, and so on, as far as the axis has them."""
    return [most >> halved for halved in range(most.bit_length()) if most >> halved <= bound(extent)]
