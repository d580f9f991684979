"""`if_convert`: conditions on a loop as choices between values that are both computed."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...symbolic_int import is_known
from ...tir.expr import Binary, Call, Const, Expr, Load, Select, Var, maximum, minimum, post_order, rewrite
from ...tir.simplify import Simplifier
from ..core.affine import depends, simplifier
from ..core.block import Block
from ..core.forms import Map
from .base import primitive


@primitive
def if_convert(b: Block[Map], loop: Var | str) -> Block[Map]:
    """Computes both values of each condition on a loop and chooses one: vectors have no branches.

    ::

        for i in 64: out[i] = i % 2 < 1 ? x[i // 2] : y[i // 2]    ⇒    if_convert(i)    for i in 64: out[i] = select(i % 2 < 1, x[i // 2], y[i // 2])

    Indices that a condition keeps within an axis are clipped to it. A condition stays where a value calls functions, or reads at places
    that are data. Raises UsageError for a reduction.
    """
    if not isinstance(b.form, Map):
        raise UsageError("only stages without sums are converted")
    v, _ = b.find(loop)
    moved = {v, *(axis for axis, place in b.bindings.items() if depends(place, v))}
    simplify = simplifier(b.form.loops)

    def converted(e: Expr) -> Expr:
        if not isinstance(e, Select) or not e.lazy or not any(x in moved for x in post_order(e.cond)):
            return e
        values = [_everywhere(x, simplify) for x in (e.then, e.other)]
        if any(x is None for x in values):
            return e
        then, other = (x for x in values if x is not None)
        return Select(e.cond, then, other, lazy=False)

    stores = tuple(s.rewritten(lambda x: rewrite(x, converted)) for s in b.form.stores)
    unchanged = all(x is y for new, old in zip(stores, b.form.stores) for x, y in [(new.value, old.value)])
    return b if unchanged else replace(b, form=replace(b.form, stores=stores), view=None)


def _everywhere(e: Expr, simplify: Simplifier) -> Expr | None:
    """A value that can be computed whatever the conditions around it are; None if it takes too long, or its places are unknown."""
    clipped: dict[Expr, Expr] = {}
    for x in post_order(e):
        if isinstance(x, Call) or (isinstance(x, Select) and x.lazy):
            return None
        if (
            isinstance(x, Binary)
            and x.op in ("floordiv", "floormod", "truncdiv", "truncmod")
            and not isinstance(x.b, Const)
        ):
            return None
        if isinstance(x, Load):
            if any(isinstance(y, Load) for i in x.indices for y in post_order(i)):
                return None
            indices = [_within(i, n, simplify) for i, n in zip(x.indices, x.source.shape)]
            if any(i is None for i in indices):
                return None
            clipped[x] = x.source[tuple(i for i in indices if i is not None)]
    return rewrite(e, lambda x: clipped.get(x, x)) if clipped else e


def _within(index: Expr, extent: int, simplify: Simplifier) -> Expr | None:
    """The index, clipped to an axis where it may be outside; None if it is not known where it is."""
    if not is_known(extent):
        return None
    low, high = simplify.range(index)
    if not (isinstance(low, int) and isinstance(high, int)):
        return None
    index = maximum(index, 0) if low < 0 else index
    return minimum(index, extent - 1) if high >= extent else index
