"""Operands that come from memory: weights, which a network reads once, and which the caches have lost by the next time.

A tile reads some columns of such an operand for every part of the rows. Meanwhile it asks for the next columns, so that they
are in the cache when their turn comes. Where there are many rows, their arithmetic takes so much longer than the columns take to
arrive that it is of no use.
"""

from __future__ import annotations

import math

from ...tir.expr import Load, Var
from ...tir.vector_target import VectorTarget
from ..affine import depends, loads
from ..block import Block
from ..forms import Loop, Reduction
from ..primitives import prefetch


def prefetch_next(b: Block[Reduction], v: Var, target: VectorTarget) -> Block[Reduction]:
    """The block with the next columns of its vector operand asked for, where that is of use. `v`: the axis of the columns."""
    columns = b.over(v)[:1]
    found = _operand(b, v)
    if found is None or not columns or b.window is not None:
        return b
    if not any(columns[0] is x for x, _ in b.outside) or found.source.nbytes < target.near_bytes:
        return b
    again = _shared(b, found, columns[0])
    if math.prod(n for _, n in again) > target.prefetched_tiles:
        return b
    over = max(again, key=lambda x: x[1], default=None)
    return prefetch(b, found, ahead=columns[0], **({"over": over[0]} if over is not None else {}))


def _operand(b: Block[Reduction], v: Var) -> Load | None:
    """The one read that moves with the columns, in a product of two; none of what it reads is missing."""
    read = [e for e in loads(b.form.update) if e.source is not b.form.acc]
    moving = [e for e in read if any(depends(i, v) for i in e.indices)]
    if len(read) != 2 or len(moving) != 1:
        return None
    view = b.seen()
    ranges = [view.simplify.range(view(i)) for i in moving[0].indices]
    inside = all(low >= 0 and high < d for (low, high), d in zip(ranges, moving[0].source.shape))
    return moving[0] if inside else None


def _shared(b: Block[Reduction], e: Load, columns: Var) -> list[Loop]:
    """Loops inside of that over the columns that read the same ones in each step."""
    view = b.seen()
    moving = [view(i) for i in e.indices]
    inside = b.outside[b.depth(columns) + 1 :]
    return [x for x in inside if not any(depends(i, x[0]) for i in moving)]
