"""Short loops around the updates of a tile, which the compiler is told to write out.

A loop over a block of eight channels ends every eight steps, and processors with narrow vectors take few cycles for a step: leaving the
loop then costs a sixth of the time. Compilers write such loops out by themselves only where they are shorter still.
"""

from __future__ import annotations

from ...tir.dtypes import itemsize
from ...tir.expr import Const
from ...tir.stmt import SERIAL, VECTORIZED, For, Scope, Store, pre_order

_MOST_STEPS = 8
_WIDEST = 32
"""Bytes of a vector. With 32 registers of 64 bytes, a step takes so long that the end of a loop is hidden."""
_MOST_UPDATES = 96
"""Updates of vectors that a loop written out may have: the cache of decoded instructions has room for some such loops."""


def is_short(s: For) -> bool:
    """True for a loop of few steps, all of which update vectors in registers and have no loop of their own."""
    if s.kind != SERIAL or not isinstance(s.extent, Const) or not 1 < s.extent.value <= _MOST_STEPS:
        return False
    updates = 0
    for x in pre_order(s.body):
        if isinstance(x, For) and x.kind != VECTORIZED:
            return False
        if isinstance(x, Store):
            if x.buffer.scope != Scope.REGISTER or x.buffer.shape[-1] * itemsize(x.buffer.dtype) > _WIDEST:
                return False
            updates += 1
    return updates > 1 and updates * int(s.extent.value) <= _MOST_UPDATES
