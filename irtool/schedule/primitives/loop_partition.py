"""`loop_partition`: the range of a loop split into several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import UsageError
from ...symbolic_int import SymbolicInt
from ...tir.expr import Expr, Var
from ..core.block import Block
from ..core.forms import Form
from .base import primitive


@primitive
def loop_partition(b: Block[Form], loop: Var | str, ranges: Sequence[tuple[int, int]]) -> list[Block[Form]]:
    """One block for each of the ranges `(begin, end)` of a loop's steps; in each, the loop begins at 0.

    ::

        for i in 19: out[i] = f(i)    ⇒    loop_partition(i, [(0, 16), (16, 19)])    for i in 16: out[i] = f(i)
                                                                                     for i in 3: out[i + 16] = f(i + 16)

    This splits off tails, and separates the steps for which a condition holds from the others. The ranges may overlap if results
    may be computed twice. Raises UsageError for a range that the loop does not have.
    """
    v, extent = b.find(loop)
    for begin, end in ranges:
        open_range = isinstance(begin, SymbolicInt) or isinstance(end, SymbolicInt)  # it may be empty
        if not (0 <= begin <= end if open_range else 0 <= begin < end):
            raise UsageError(f"[{begin}, {end}) is not a range of {v.name}, which has {extent} steps")
    return [_part(b, v, extent, begin, end) for begin, end in ranges]


def _part(b: Block[Form], v: Var, extent: int, begin: int, end: int) -> Block[Form]:
    if (begin, end) == (0, extent):
        return b
    own = Var(v.name, v.dtype)
    value: Expr = own + begin if begin else own
    axis = _axis(b, v)
    before = b.ranges.get(axis, (0, 0))[0]
    part = b.with_loop(v, ((own, end - begin),), value)
    return replace(part, ranges={**b.ranges, axis: (before + begin, before + end)})


def _axis(b: Block[Form], v: Var) -> Var:
    """The axis that a loop runs over, in full or over one range of it."""
    for x, _ in (*b.form.loops, *b.form.inner):
        over = b.over(x)
        if len(over) == 1 and over[0] is v and (x is v or x in b.ranges):
            return x
    raise UsageError(f"{v.name} is a part of an axis", help="partition loops before they are split or fused")
