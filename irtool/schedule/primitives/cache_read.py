"""`cache_read`: a copy of a part of an operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Expr, Load, Var, substitute
from ...tir.stmt import VECTORIZED, Buffer, Scope, Store
from ..core.block import Block, Cache
from ..core.forms import Form, Map
from .base import primitive
from .operands import find_operand


@primitive
def cache_read(b: Block[Form], operand: Load | str, loops: Sequence[Var | str], name: str = "cached") -> Block[Form]:
    """The elements of an operand for all steps of some innermost loops, copied before these loops.

    ::

        for i in 4: for j in 8: out[i, j] = x[j, i]    ⇒    cache_read(x, [j, i])    for j in 8: for i in 4: cached[j, i] = x[j, i]
                                                                                     for i in 4: for j in 8: out[i, j] = cached[j, i]

    The copy has an axis for each loop, in the order of `loops`, and is filled in vectors along the last. It is on the stack. The
    operand's name is that of its buffer; several operands in one buffer are `x[0]`, `x[1]`. Raises UsageError unless the loops
    are the innermost ones over results.
    """
    b.check_placed()
    if isinstance(operand, str):
        operand = find_operand(b.form, operand)
    chosen = [b.find(x) for x in loops]
    inside = b.loops[len(b.loops) - len(chosen) :]
    if {v for v, _ in inside} != {v for v, _ in chosen}:
        raise UsageError("a copy is for the innermost loops over results", help="reorder them first")
    buffer = Buffer(name, [n for _, n in chosen], operand.dtype, Scope.LOCAL)
    own = [(Var(v.name, v.dtype), n) for v, n in chosen]
    positions: dict[Expr, Expr] = {v: x for (v, _), (x, _) in zip(chosen, own)}
    source = substitute(b.seen()(operand), positions)
    indices = tuple(x for x, _ in own)
    fill = Block.of(Map(tuple(own), (Store(buffer, indices, source),))).with_kind(own[-1][0], VECTORIZED)
    cache = Cache(len(chosen), buffer, fill, operand, Load(buffer, tuple(v for v, _ in chosen)))
    return replace(b, caches=(*b.caches, cache), view=None)
