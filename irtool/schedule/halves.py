"""In which order threads take the steps of loops that they share: along what they read of each other.

    parallel for o in 4: parallel for y in 56: out[o, y] += data[c, y] * w[o, c]
    thread 1: o 0 and 1, all y; thread 2: o 2 and 3, all y        ⇒      thread 1: y 0 to 27, all o; thread 2: y 28 to 55, all o

Threads take the steps in order, each from a place of its own. With the outermost loop first, each of two threads makes half of the
channels and reads all of the data, half of which the other one wrote. With the first half of the rows first, then the others, each
reads the rows that it wrote, and all of the weights. Between cores, a byte that the other one wrote takes longer than a byte of
weights, and much longer where they have no cache in common.

The loops stay as they are: iterations of shared loops do not depend on each other, and the order is that of whoever counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ..tir.expr import Const, Expr, Load, Var, post_order
from ..tir.stmt import Buffer, For, Let, Scope, Stmt, Store, expressions, pre_order
from ..tir.vector_target import VectorTarget
from .threads import all_shared_loops, count_stores

_HANDED = 0.3
"""Cycles for a byte that both threads read and one of them wrote."""

_AGAIN = 0.05
"""Cycles for a byte of constants that both threads read, instead of half of them each."""

_OWN = (Scope.LOCAL, Scope.REGISTER)
"""Where a thread has memory of its own."""

_SHORT = 256
"""Stores of a step: with fewer, it takes no longer than to divide the number of the step by what is no constant."""


def halved_loops(root: Stmt, constants: Set[Buffer], target: VectorTarget) -> dict[Var, Var]:
    """Loops of which threads take the first half of the steps first, by the variable of the outermost of those that are one with each.
    `constants`: buffers that no kernel writes."""
    best = {loops[0].var: _best(loops, constants, target) for loops in all_shared_loops(root)}
    return {outermost: loop.var for outermost, loop in best.items() if loop is not None}


def _best(loops: Sequence[For], constants: Set[Buffer], target: VectorTarget) -> For | None:
    """The loop to take in halves; None for the outermost one, whose steps are in order as they are."""
    if len(loops) < 2 or not all(isinstance(s.extent, Const) and s.extent.value > 0 for s in loops):
        return None
    extents = [int(s.extent.value) for s in loops if isinstance(s.extent, Const)]
    used = _used(loops)
    costs = [_cost(s.var, used, constants, target) for s in loops]
    image = any(b.layout is not None for b, written in used if written)
    best = 0
    for n in range(1, len(loops)):
        alike = image and not best and costs[n] == costs[0] == 0  # channels are outermost, where others share rows
        if extents[n] > 1 and (costs[n] < costs[best] or alike):
            best = n
    if not best or (extents[best] % 2 and count_stores(loops[-1].body) < _SHORT):
        return None
    return loops[best]


def _cost(loop: Var, used: dict[tuple[Buffer, bool], set[Var]], constants: Set[Buffer], target: VectorTarget) -> float:
    """Cycles that each of two threads has more for what both read where they share the steps of this loop."""
    cost, again = 0.0, 0
    for (b, written), variables in used.items():
        if not written and loop not in variables:
            cost += b.nbytes * (_AGAIN if b in constants else _HANDED)
            again += b.nbytes if b in constants else 0
    return cost if again <= target.streamed_bytes else float("inf")


def _used(loops: Sequence[For]) -> dict[tuple[Buffer, bool], set[Var]]:
    """The tensors that loops read and write, and which of their variables the places depend on, for each of these."""
    own = {s.var for s in loops}
    values: dict[Expr, frozenset[Var]] = {}
    used: dict[tuple[Buffer, bool], set[Var]] = {}

    def variables(exprs: Sequence[Expr]) -> Iterator[Var]:
        for e in post_order(*exprs):
            if isinstance(e, Var):
                yield from values.get(e, ())
                if e in own:
                    yield e

    for s in pre_order(loops[-1].body):
        if isinstance(s, Let):
            values[s.var] = frozenset(variables([s.value]))
        if isinstance(s, Store) and s.buffer.scope not in _OWN:
            used.setdefault((s.buffer, True), set()).update(variables(s.indices))
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and isinstance(e.source, Buffer) and e.source.scope not in _OWN:
                used.setdefault((e.source, False), set()).update(variables(e.indices))
    return used
