"""`reorder`: loops in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Var
from ..core.block import Block
from ..core.forms import Form, Loop
from .base import primitive


@primitive
def reorder(b: Block[Form], order: Sequence[Var | str]) -> Block[Form]:
    """Puts the loops `order` in that order, into the positions that they had; other loops keep their positions.

    ::

        for i: for j: for k: …    ⇒    reorder([k, i])    for k: for j: for i: …

    Loops over results change positions with each other, and so do loops of a reduction, which are inside. Raises UsageError for a
    loop named twice, or for both kinds in one call.
    """
    loop_extents = dict(b.find(x) for x in order)
    if len(loop_extents) < len(order):
        raise UsageError("a loop is named twice")
    over = {v: n for v, n in b.loops if v in loop_extents}
    if over and len(over) < len(loop_extents):
        raise UsageError("loops over results and loops of the reduction cannot change places")

    def placed(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
        mine = iter(loop_extents.items())
        return tuple(next(mine) if x[0] in loop_extents else x for x in loops)

    loops: tuple[Loop, ...] = placed(b.loops)
    inner: tuple[Loop, ...] = placed(b.inner)
    same = all(x[0] is y[0] for x, y in zip((*loops, *inner), (*b.loops, *b.inner)))
    return b if same else replace(b, loops=loops, inner=inner)
