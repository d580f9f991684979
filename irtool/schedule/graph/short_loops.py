"""Short loops around the updates of a tile that the compiler must unroll, or must not.

A loop over a block of eight channels ends every eight steps, and processors with narrow vectors take few cycles for a step:
leaving the loop then costs a sixth of the time. By themselves, compilers unroll such loops only if they are shorter still.

A loop over a window's columns reads in one step the elements that neighbouring results read in the next. If it is unrolled, gcc
keeps the common elements of several steps in registers, and accumulators in memory instead: with AVX2, 3 x 3 convolutions took up
to 1.6 times as long.

If a loop assembles vectors from distant elements and is unrolled, gcc 12 compares all reads with each other: 128 elements, 26
apart, took seven seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import prod

from ...symbolic_int import is_known
from ...tir.dtypes import itemsize
from ...tir.expr import Const, Expr, Load, post_order
from ...tir.kernel import Kernel
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import SERIAL, UNROLLED, VECTORIZED, For, Scope, Stmt, Store, children, pre_order, rewrite_stmt
from ..cost.machine import NARROWEST_VECTOR, WRITTEN_OUT

_MOST_STEPS = WRITTEN_OUT // 2
_WIDEST = 2 * NARROWEST_VECTOR
"""Bytes of a vector in loops that are unrolled. With 32 registers of 64 bytes, a step takes long enough to hide the end of a
loop."""
_MOST_UPDATES = 6 * WRITTEN_OUT
"""The most updates of vectors in an unrolled loop: the cache of decoded instructions holds some such loops."""
_MOST_ELEMENTS = 2 * WRITTEN_OUT
"""The most distant elements that an unrolled loop may read."""


def mark_short_loops(k: Kernel) -> Kernel:
    """The kernel with `unroll` set for such loops."""
    simplify = Simplifier(loop_bounds(k))
    nests = [mark_nest(nest, simplify) for nest in k.nests]
    return k.replace(nests=nests) if any(a is not b for a, b in zip(nests, k.nests, strict=True)) else k


def mark_nest(body: Stmt, simplify: Simplifier) -> Stmt:
    """The nest with `unroll` set for such loops."""

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or not _has_few_steps(s, WRITTEN_OUT):
            return s
        if _shares_reads(s, simplify) or _gathers(s, simplify):
            return For(s.var, s.extent, s.body, s.kind, unroll=False)
        return For(s.var, s.extent, s.body, s.kind, unroll=True) if _is_short(s) else s

    return rewrite_stmt(body, change)


def _is_short(s: For) -> bool:
    """True for a loop of few steps, all of which update vectors in registers without a loop inside."""
    updates = _updates(s, _MOST_STEPS)
    if not updates or any(_width(u) > _WIDEST for u, _ in updates):
        return False
    return _count(updates) * s.steps <= _MOST_UPDATES


def _shares_reads(s: For, simplify: Simplifier) -> bool:
    """True for a loop of few steps, all of which update vectors in registers, if two steps read a common element for different
    results."""
    updates = _updates(s, WRITTEN_OUT)
    extent = s.steps
    offsets_of: dict[tuple[object, frozenset[tuple[Expr, int]], int], set[int]] = defaultdict(set)
    for update, unrolled in updates:
        copies = {x.var: x.steps for x in unrolled}
        for e in post_order(update.value):
            if isinstance(e, Load) and not _is_in_register(e):
                terms, offset = simplify.linear(e.source.offset(e.indices))
                if step := terms.pop(s.var, 0):
                    moves = [(terms.pop(x), n) for x, n in copies.items() if x in terms]
                    others = frozenset(terms.items())
                    for ns in product(*(range(n) for _, n in moves)):
                        offsets_of[e.source, others, step].add(
                            offset + sum(n * move for n, (move, _) in zip(ns, moves))
                        )
    return any(
        (other - here) % step == 0 and abs(other - here) < extent * abs(step)
        for (_, _, step), moves_of in offsets_of.items()
        for here in moves_of
        for other in moves_of
        if here < other
    )


def _gathers(s: For, simplify: Simplifier) -> bool:
    """True for a loop of few steps that assemble vectors from many elements whose distance exceeds the lanes of a vector."""
    elements = 0
    for x, unrolled in _inside(s):
        if isinstance(x, For):
            if x.kind != VECTORIZED:
                return False
            lanes = x.steps
            apart = {
                (e.source, frozenset(terms.items()), offset)
                for e in _loads(x)
                for terms, offset in [simplify.linear(e.source.offset(e.indices))]
                if abs(terms.get(x.var, 0)) > lanes
            }
            elements += lanes * len(apart) * prod(u.steps for u in unrolled)
    return elements * s.steps > _MOST_ELEMENTS


def _loads(s: For) -> list[Load]:
    """The reads from memory of the values that a loop stores."""
    stores = [x for x in pre_order(s.body) if isinstance(x, Store)]
    return [e for x in stores for e in post_order(x.value) if isinstance(e, Load) and not _is_in_register(e)]


def _is_in_register(e: Load) -> bool:
    return e.source.scope == Scope.REGISTER or not e.indices


def _inside(s: For) -> Iterator[tuple[Stmt, tuple[For, ...]]]:
    """The statements in a loop, each with the unrolled loops around it, which multiply it."""
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(s.body, ())]
    while stack:
        x, around = stack.pop()
        if isinstance(x, For) and x.kind == UNROLLED and isinstance(x.extent, Const):
            around = (*around, x)
        else:
            yield x, around
        stack.extend((part, around) for part in children(x))


def _updates(s: For, most: int) -> list[tuple[Store, tuple[For, ...]]]:
    """The updates of a loop of at most `most` steps, if it only updates several vectors in registers."""
    if not _has_few_steps(s, most):
        return []
    updates = []
    for x, unrolled in _inside(s):
        if isinstance(x, For) and x.kind != VECTORIZED:
            return []
        if isinstance(x, Store):
            if x.buffer.scope != Scope.REGISTER:
                return []
            updates.append((x, unrolled))
    return updates if _count(updates) > 1 else []


def _count(updates: list[tuple[Store, tuple[For, ...]]]) -> int:
    """The number of updates after unrolling."""
    return sum(prod(x.steps for x in unrolled) for _, unrolled in updates)


def _has_few_steps(s: For, most: int) -> bool:
    """True for a serial loop with 2 to `most` steps."""
    return (
        s.kind == SERIAL and isinstance(s.extent, Const) and is_known(s.extent.int_value) and 1 < s.extent.value <= most
    )


def _width(s: Store) -> int:
    """Bytes of the stored vector."""
    return s.buffer.shape[-1] * itemsize(s.buffer.dtype)
