"""Execution modes of a loop: all its steps at once, as a reduction of one axis, or one after the other.

Steps may run at once where each has elements of its own in every buffer that the loop writes, as `tir.independence` tells.
Where indices are no sums that it knows, they are looked at as they come (`ASK`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...tir.expr import Binary, Const, Expr, Load, post_order
from ...tir.independence import LoopAccesses
from ...tir.simplify import Simplifier
from ...tir.stmt import Allocate, For, Stmt, Store
from .functions import REDUCTIONS

AT_ONCE, REDUCED, IN_TURN, ASK = "at once", "reduced", "in turn", "ask"

_EXTREMES = ("min", "max", "minimum", "maximum")


@dataclass(frozen=True)
class Way:
    """The execution of a loop. `elements` are allocated by one step; of a reduction, `update` is the store, `loops` are all its
    loops, outermost first, and `value` is combined; `asked` are the places that must differ."""

    how: str
    elements: int = 1
    update: Store | None = None
    loops: tuple[For, ...] = ()
    value: Expr | None = None
    asked: tuple[Expr, ...] = ()


def way_of(loop: For, bounds: dict[Any, tuple[float, float]]) -> Way:
    """The possible execution of a loop of constant extent; `bounds` are the ranges of the variables around it."""
    reduction = _as_reduction(loop)
    if reduction is not None:
        return reduction
    accesses = LoopAccesses(loop, bounds)
    elements = max(1, sum(s.buffer.size for s in accesses.inside if isinstance(s, Allocate)))
    asked: list[Expr] = []
    for buffer in accesses.written:
        if accesses.is_apart(buffer):
            continue
        unique = {accesses.simplify(p) for p in accesses.places(buffer)}
        parts = set(post_order(*unique))
        if len(unique) != 1 or not accesses.own.isdisjoint(parts):
            return Way(IN_TURN, elements)
        if any(isinstance(e, Load) and e.source in accesses.written for e in parts):
            return Way(IN_TURN, elements)
        asked += unique
    return Way(ASK if asked else AT_ONCE, elements, asked=tuple(asked))


def _as_reduction(loop: For) -> Way | None:
    """`for k: for l: b[i] = b[i] + f(k, l)`, where `f` does not read `b`."""
    loops = [loop]
    s: Stmt = loop.body
    while isinstance(s, For) and isinstance(s.extent, Const):
        loops.append(s)
        s = s.body
    if not isinstance(s, Store) or not isinstance(s.value, Binary) or s.value.op not in (*REDUCTIONS, *_EXTREMES):
        return None
    accumulated, value = s.value.a, s.value.b
    if s.value.op in REDUCTIONS and (not isinstance(accumulated, Load) or accumulated.source is not s.buffer):
        accumulated, value = value, accumulated
    if not isinstance(accumulated, Load) or accumulated.source is not s.buffer:
        return None
    simplify = Simplifier()
    variables = {x.var for x in loops}
    for a, b in zip(accumulated.indices, s.indices, strict=True):
        if simplify(a) is not simplify(b) or not variables.isdisjoint(post_order(b)):
            return None
    if any(isinstance(e, Load) and e.source is s.buffer for e in post_order(value, *s.indices)):
        return None
    return Way(REDUCED, update=s, loops=tuple(loops), value=value)
