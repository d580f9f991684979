"""`tile`: several loops as loops over blocks of their steps, and loops over the steps of a block."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import UsageError
from ...tir.expr import Var
from ..core.block import Block
from ..core.forms import Form
from .base import primitive
from .reorder import reorder
from .split import split


@primitive
def tile(b: Block[Form], loops: Sequence[Var | str], factors: Sequence[int]) -> Block[Form]:
    """Splits each of the loops by a factor; the loops over the steps of a block are inside of all others.

    ::

        for i in 32: for j in 64: …    ⇒    tile([i, j], [4, 16])    for i_o in 8: for j_o in 4: for i_i in 4: for j_i in 16: …

    Like TVM's and Halide's `tile`: `split`, `split` and `reorder` in one. The loops are all over results, or all of the
    reduction. Raises UsageError if a factor does not divide its loop; `loop_partition` splits off the remainder.
    """
    chosen = [b.find(x) for x in loops]
    if len(chosen) != len(factors):
        raise UsageError(f"there are {len(chosen)} loops, and factors for {len(factors)}")
    inner: list[Var] = []
    outer: list[Var] = []
    for (v, extent), factor in zip(chosen, factors):
        if factor < 1 or extent % factor:
            raise UsageError(f"{v.name} has {extent} steps, which is no multiple of {factor}", help="loop_partition")
        names = [f"{v.name}_o", f"{v.name}_i"]
        before = {x for x, _ in (*b.loops, *b.inner)}
        b = split(b, v, [extent // factor, factor], names)
        o, i = (x for x, _ in (*b.loops, *b.inner) if x not in before)
        outer.append(o)
        inner.append(i)
    return reorder(b, [*outer, *inner])
