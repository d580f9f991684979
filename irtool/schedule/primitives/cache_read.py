"""`cache_read`: a part of an operand in a buffer of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Expr, Load, Var, rewrite
from ...tir.stmt import VECTORIZED, Buffer, Store
from ..affine import loads
from ..block import Block, Cache
from ..forms import Form, Map, Reduction
from .base import primitive


@primitive
def cache_read(b: Block[Form], operand: Load | str, loops: Sequence[Var | str], name: str = "near") -> Block[Form]:
    """What an operand has for the steps of some loops, the innermost ones, copied before they run.

    ::

        for i in 4: for j in 8: out[i, j] = x[j, i]    ⇒    cache_read(x, [j, i])    for j in 8: for i in 4: near[j, i] = x[j, i]
                                                                                     for i in 4: for j in 8: out[i, j] = near[j, i]

    The copy has an axis for each loop named, in that order, and is made in vectors along the last. It lies on the stack.
    An operand may be named by its buffer, if that is read at one place. Raises UsageError unless the loops are the innermost
    ones over results.
    """
    if isinstance(operand, str):
        operand = _operand(b, operand)
    chosen = [b.find(x) for x in loops]
    inside = b.loops[len(b.loops) - len(chosen) :]
    if {v for v, _ in inside} != {v for v, _ in chosen}:
        raise UsageError("a copy is made for the innermost loops over results", help="reorder them first")
    buffer = Buffer(name, [n for _, n in chosen], operand.dtype, "local")
    own = [(Var(v.name, v.dtype), n) for v, n in chosen]
    places: dict[Expr, Expr] = {v: x for (v, _), (x, _) in zip(chosen, own)}
    source = rewrite(b.seen()(operand), lambda e: e, places)
    at = tuple(x for x, _ in own)
    fill = Block.of(Map(tuple(own), (Store(buffer, at, source),))).with_kind(own[-1][0], VECTORIZED)
    cache = Cache(len(chosen), buffer, fill, operand, Load(buffer, tuple(v for v, _ in chosen)))
    return replace(b, caches=(*b.caches, cache), view=None)


def _operand(b: Block[Form], name: str) -> Load:
    update = (b.form.update,) if isinstance(b.form, Reduction) else ()
    every = dict.fromkeys(loads(*update, *(s.value for s in b.form.stores)))
    found = [e for e in every if e.source.name == name]
    if len(found) != 1:
        known = ", ".join(dict.fromkeys(e.source.name for e in every)) or "none"
        raise UsageError(f"{name} is read at {len(found)} places, and must be at one", help=f"what is read: {known}")
    return found[0]
