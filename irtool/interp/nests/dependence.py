"""How a loop may run: all its steps at once, as a reduction of one axis, or one after the other.

Steps may run at once where each has elements of its own in every buffer that the loop writes. The places that a step touches
are `c*v + rest`, and those of two steps differ if the rest, over the loops inside, covers less than `c` places, and what comes
from outside is the same everywhere. Where indices are no such sums, they are looked at as they come (`ASK`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...tir.expr import Binary, Const, Expr, Load, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import Allocate, Buffer, For, Let, Stmt, Store, expressions, pre_order
from .functions import REDUCTIONS

AT_ONCE, REDUCED, IN_TURN, ASK = "at once", "reduced", "in turn", "ask"

_EXTREMES = ("min", "max", "minimum", "maximum")


@dataclass(frozen=True)
class Way:
    """How a loop runs. `elements` is what one step allocates; of a reduction, `update` is the store, `loops` are all its
    loops, outermost first, and `value` is what is combined; `asked` are the places that must differ."""

    how: str
    elements: int = 1
    update: Store | None = None
    loops: tuple[For, ...] = ()
    value: Expr | None = None
    asked: tuple[Expr, ...] = ()


def way_of(loop: For, bounds: dict[Any, tuple[float, float]]) -> Way:
    """How a loop of constant extent may run; `bounds` are the ranges of the variables around it."""
    reduction = _as_reduction(loop)
    if reduction is not None:
        return reduction
    inside = list(pre_order(loop.body))
    private = {s.buffer for s in inside if isinstance(s, Allocate)}
    elements = max(1, sum(s.buffer.size for s in inside if isinstance(s, Allocate)))
    written = {s.buffer for s in inside if isinstance(s, Store)} - private
    own: set[Expr] = {s.var for s in inside if isinstance(s, For | Let)}
    ranges = dict(bounds)
    ranges[loop.var] = _range(loop)
    for s in inside:
        if isinstance(s, For):
            ranges[s.var] = _range(s)
    simplify = Simplifier(ranges)
    asked: list[Expr] = []
    for buffer in written:
        places = _places(buffer, inside)
        if _is_apart(places, loop.var, own, simplify):
            continue
        unique = {simplify(p) for p in places}
        if len(unique) != 1 or any(e in own for p in unique for e in post_order(p)):
            return Way(IN_TURN, elements)
        if any(isinstance(e, Load) and e.source in written for p in unique for e in post_order(p)):
            return Way(IN_TURN, elements)
        asked += unique
    return Way(ASK if asked else AT_ONCE, elements, asked=tuple(asked))


def _range(s: For) -> tuple[float, float]:
    return (0, max(int(s.extent.value) - 1, 0)) if isinstance(s.extent, Const) else (0, float("inf"))


def _places(buffer: Buffer, inside: Sequence[Stmt]) -> list[Expr]:
    """The places of every access to a buffer."""
    found = [buffer.offset(s.indices) for s in inside if isinstance(s, Store) and s.buffer is buffer]
    for s in inside:
        for root in expressions(s):
            found += [buffer.offset(e.indices) for e in post_order(root) if isinstance(e, Load) and e.source is buffer]
    return found


def _is_apart(places: Sequence[Expr], v: Var, own: set[Expr], simplify: Simplifier) -> bool:
    """True if the elements at these places are others in each step of the loop of `v`."""
    factor: int | None = None
    around: dict[Expr, int] | None = None
    low, high = float("inf"), float("-inf")
    for place in places:
        terms, offset = simplify.linear(place)
        outer: dict[Expr, int] = {}
        least = most = float(offset)
        c = 0
        for term, k in terms.items():
            if term is v:
                c = k
                continue
            parts = set(post_order(term))
            if v in parts:
                return False
            if any(isinstance(e, Load) for e in parts):
                return False
            if own.isdisjoint(parts):
                outer[term] = k
                continue
            a, b = simplify.range(term)
            least += min(a * k, b * k)
            most += max(a * k, b * k)
        if not c or (factor is not None and c != factor) or (around is not None and outer != around):
            return False
        factor, around = c, outer
        low, high = min(low, least), max(high, most)
    return factor is not None and high - low < abs(factor)


def _as_reduction(loop: For) -> Way | None:
    """`for k: for l: b[i] = b[i] + f(k, l)`, where `f` does not read `b`."""
    loops = [loop]
    s: Stmt = loop.body
    while isinstance(s, For) and isinstance(s.extent, Const):
        loops.append(s)
        s = s.body
    if not isinstance(s, Store) or not isinstance(s.value, Binary) or s.value.op not in (*REDUCTIONS, *_EXTREMES):
        return None
    held, value = s.value.a, s.value.b
    if s.value.op in REDUCTIONS and (not isinstance(held, Load) or held.source is not s.buffer):
        held, value = value, held
    if not isinstance(held, Load) or held.source is not s.buffer:
        return None
    simplify = Simplifier()
    variables = {x.var for x in loops}
    for a, b in zip(held.indices, s.indices, strict=True):
        if simplify(a) is not simplify(b) or not variables.isdisjoint(post_order(b)):
            return None
    if any(isinstance(e, Load) and e.source is s.buffer for e in post_order(value, *s.indices)):
        return None
    return Way(REDUCED, update=s, loops=tuple(loops), value=value)
