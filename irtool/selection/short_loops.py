"""Short loops around the updates of a tile, which the compiler is told to write out, or to leave as they are.

A loop over a block of eight channels ends every eight steps, and processors with narrow vectors take few cycles for a step: leaving the
loop then costs a sixth of the time. Compilers write such loops out by themselves only where they are shorter still.

A loop over a window's columns reads in one step what neighbouring results read in the next. Written out, gcc keeps what several steps
read in registers, and accumulators in memory instead: with AVX2, 3 x 3 convolutions took up to 1.6 times as long.

Of a loop that makes vectors of elements far apart, written out, gcc 12 compares all reads with each other: 128 elements, 26 apart, took
it seven seconds.
"""

from __future__ import annotations

from collections import defaultdict

from ..tir.dtypes import itemsize
from ..tir.expr import Const, Expr, Load, post_order
from ..tir.simplify import Simplifier
from ..tir.stmt import SERIAL, VECTORIZED, For, Scope, Stmt, Store, pre_order, rewrite_stmt

_MOST_STEPS = 8
_WIDEST = 32
"""Bytes of a vector in loops that are written out. With 32 registers of 64 bytes, a step takes so long that the end of a loop is hidden."""
_MOST_UPDATES = 96
"""Updates of vectors that a loop written out may have: the cache of decoded instructions has room for some such loops."""
_MOST_COLUMNS = 16
"""Steps of a loop that gcc may write out by itself."""
_MOST_ELEMENTS = 32
"""Elements far apart that a loop written out may read."""


def mark_short_loops(body: Stmt, simplify: Simplifier) -> Stmt:
    """The nest, whose elements have one offset each, with `unroll` set for such loops."""

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or not _has_few_steps(s, _MOST_COLUMNS):
            return s
        if _shares_reads(s, simplify) or _gathers(s, simplify):
            return For(s.var, s.extent, s.body, s.kind, unroll=False)
        return For(s.var, s.extent, s.body, s.kind, unroll=True) if _is_short(s) else s

    return rewrite_stmt(body, change)


def _is_short(s: For) -> bool:
    """True for a loop of few steps, all of which update vectors in registers and have no loop of their own."""
    updates = _updates(s, _MOST_STEPS)
    if not updates or any(_width(u) > _WIDEST for u in updates):
        return False
    return len(updates) * s.steps <= _MOST_UPDATES


def _shares_reads(s: For, simplify: Simplifier) -> bool:
    """True for a loop of few steps, all of which update vectors in registers, if two steps read an element in common for different
    results."""
    updates = _updates(s, _MOST_COLUMNS)
    if not updates:
        return False
    extent = s.steps
    places: dict[tuple[object, frozenset[tuple[Expr, int]], int], set[int]] = defaultdict(set)
    for update in updates:
        for e in post_order(update.value):
            if isinstance(e, Load) and len(e.indices) == 1:
                terms, at = simplify.linear(e.indices[0])
                if step := terms.get(s.var):
                    others = frozenset((x, n) for x, n in terms.items() if x is not s.var)
                    places[e.source, others, step].add(at)
    return any(
        (there - here) % step == 0 and abs(there - here) < extent * abs(step)
        for (_, _, step), found in places.items()
        for here in found
        for there in found
        if here < there
    )


def _gathers(s: For, simplify: Simplifier) -> bool:
    """True for a loop of few steps that make vectors of elements further apart than a vector has elements, if they are many."""
    if not _has_few_steps(s, _MOST_COLUMNS):
        return False
    elements = 0
    for x in pre_order(s.body):
        if isinstance(x, For):
            if x.kind != VECTORIZED:
                return False
            lanes = x.steps
            elements += sum(lanes for e in _loads(x) if abs(simplify.linear(e.indices[0])[0].get(x.var, 0)) > lanes)
    return elements * s.steps > _MOST_ELEMENTS


def _loads(s: For) -> list[Load]:
    """The reads, at one index each, of the values that a loop stores."""
    stores = [x for x in pre_order(s.body) if isinstance(x, Store)]
    return [e for x in stores for e in post_order(x.value) if isinstance(e, Load) and len(e.indices) == 1]


def _updates(s: For, most: int) -> list[Store]:
    """The updates of a loop of so many steps at most, if it does nothing but update several vectors in registers."""
    if not _has_few_steps(s, most):
        return []
    found = []
    for x in pre_order(s.body):
        if isinstance(x, For) and x.kind != VECTORIZED:
            return []
        if isinstance(x, Store):
            if x.buffer.scope != Scope.REGISTER:
                return []
            found.append(x)
    return found if len(found) > 1 else []


def _has_few_steps(s: For, most: int) -> bool:
    """True for a loop whose steps follow each other, several and so many at most."""
    return s.kind == SERIAL and isinstance(s.extent, Const) and 1 < s.extent.value <= most


def _width(s: Store) -> int:
    """Bytes of the vector that is stored to."""
    return s.buffer.shape[-1] * itemsize(s.buffer.dtype)
