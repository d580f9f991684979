"""`drop_unit_loops`: removal of loops of one step."""

from __future__ import annotations

from ...tir.expr import const
from ..core.block import Block
from ..core.forms import Form
from .base import primitive


@primitive
def drop_unit_loops(b: Block[Form]) -> Block[Form]:
    """Removes the loops that have one step; their variables become 0.

    ::

        for i in 1: for j in 8: out[i, j] = f(i, j)    ⇒    for j in 8: out[0, j] = f(0, j)

    The axes of an accumulator stay.
    """
    for v, extent in (*b.loops, *b.inner):
        if extent == 1:
            b = b.with_loop(v, (), const(0, v.dtype))
    return b
