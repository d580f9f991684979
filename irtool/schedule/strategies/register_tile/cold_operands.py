"""Operands that come from memory: weights, which a network reads once in a run, and which the caches have evicted by the next
run.

A tile reads some columns of such an operand for every part of the rows. Meanwhile it prefetches the next columns. With many rows,
the arithmetic takes so much longer than the columns take to arrive that prefetches do not pay.

If one tile has all rows, every line is read once: all columns are one stream, and the tile prefetches the lines a little ahead. A
single row waits for nothing but its stream, which the processor prefetches by itself.
"""

from __future__ import annotations

import math
import operator

from ....symbolic_int import bound, holds, is_known
from ....tir import dtypes
from ....tir.expr import Load, Var
from ....tir.vector_target import VectorTarget
from ...core.affine import depends, moves, operands, stride
from ...core.block import Block
from ...core.forms import Loop, Reduction
from ...core.prefetching import vector_loops
from ...cost.machine import CACHE_WAY
from ...primitives import prefetch


def prefetch_next(b: Block[Reduction], v: Var, target: VectorTarget) -> Block[Reduction]:
    """The block with prefetches of the next columns of its vector operand, if they pay. `v`: the axis of the columns."""
    columns = b.over(v)[:1]
    operand = _operand(b, v)
    if operand is None or not columns or b.window is not None:
        return b
    if not any(columns[0] is x for x, _ in b.outside) or bound(operand.source.nbytes) < target.l1_cache_bytes:
        return b
    again = _shared(b, operand, columns[0])
    lines = vector_loops(b, operand)
    if not lines or not all(is_known(n) for _, n in lines):
        return b  # a single column, or only the run knows how many lines there are
    if not again:
        return _prefetch_stream(b, operand)
    if bound(math.prod(n for _, n in again)) > target.prefetched_tiles:
        return b
    return prefetch(b, operand, ahead=columns[0], over=max(again, key=lambda x: bound(x[1]))[0])


def _prefetch_stream(b: Block[Reduction], operand: Load) -> Block[Reduction]:
    """The block with prefetches of a later step's lines, if a tile of several rows reads the operand from end to end."""
    width = math.prod(n for _, n in vector_loops(b, operand))
    if not b.inner or math.prod(n for _, n in b.tile) == width:
        return b
    view = b.seen()
    k, _ = b.inner[-1]
    apart = stride(view.simplify, operand.source.offset([view(i) for i in operand.indices]), k)
    if apart != width:
        return b
    return prefetch(b, operand, ahead=k, steps=max(1, 2 * CACHE_WAY // (width * dtypes.itemsize(operand.dtype))))


def _operand(b: Block[Reduction], v: Var) -> Load | None:
    """The only read that depends on the columns, in a product of two, if all of its elements exist; otherwise None."""
    read = operands(b.form)
    moving = [e for e in read if moves(e, v)]
    if len(read) != 2 or len(moving) != 1:
        return None
    view = b.seen()
    ranges = [view.simplify.range(view(i)) for i in moving[0].indices]
    inside = all(
        holds(operator.ge, low, 0) and holds(operator.lt, high, d)
        for (low, high), d in zip(ranges, moving[0].source.shape)
    )
    return moving[0] if inside else None


def _shared(b: Block[Reduction], e: Load, columns: Var) -> list[Loop]:
    """The loops inside of the loop over columns whose steps all read the same columns."""
    view = b.seen()
    moving = [view(i) for i in e.indices]
    inside = b.outside[b.depth(columns) + 1 :]
    return [x for x in inside if not any(depends(i, x[0]) for i in moving)]
