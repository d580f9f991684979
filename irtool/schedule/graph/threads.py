"""Loops that threads share, extended until they have enough iterations.

    parallel for i in 2: for j in 56: out[i, j] = …        ⇒      parallel for i in 2: parallel for j in 56: out[i, j] = …

A parallel loop directly inside of a parallel loop is one loop over both variables. Threads take its iterations in chunks, each
thread the next chunk when it has finished its last: a thread that began late, or whose core also does other work, takes fewer of
them, and the others do not wait for it.

The outer loop's iterations are independent already. Those of the inner one are if the elements that one writes are neither
written nor read by another. Offsets are sums of coefficients times variables; c is the coefficient of the inner loop's variable,
with n steps. If the terms smaller than c together stay below c, and the others are multiples of a number above the range of all n
steps, the variable is a digit of the offset, and two iterations never have an offset in common.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence, Set

from ...symbolic_int import bound, greatest, greatest_common_divisor, holds, least
from ...tir.expr import Const, Expr, Load, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import (
    PARALLEL,
    SERIAL,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    Let,
    Scope,
    Stmt,
    Store,
    children,
    expressions,
    pre_order,
    rewrite_stmt,
    substitute_stmt,
)
from ...tir.vector_target import VectorTarget
from ..core.forms import simplifier


def share_loops(root: Stmt, target: VectorTarget) -> Stmt:
    """The nest with parallel loops of few iterations extended over the loops inside, as far as these are independent."""
    simplify = simplifier(root)

    def change(s: Stmt) -> Stmt:
        return _extended(s, simplify, target.most_parts) if isinstance(s, For) and s.kind == PARALLEL else s

    return rewrite_stmt(root, change)


def separate_variables(nests: Sequence[Stmt]) -> list[Stmt]:
    """The nests with a variable of its own for each parallel loop: chunk sizes are stored by variable, and loops that a schedule
    split from one loop still share it."""
    seen: set[Var] = set()

    def change(s: Stmt) -> Stmt:
        if not isinstance(s, For) or s.kind != PARALLEL:
            return s
        if s.var not in seen:
            seen.add(s.var)
            return s
        own = Var(s.var.name, s.var.dtype)
        return For(own, s.extent, substitute_stmt(s.body, {s.var: own}), PARALLEL)

    return [rewrite_stmt(n, change) for n in nests]


def shared_loops(outer: For) -> list[For]:
    """A parallel loop and the parallel loops directly inside of it, which are one loop with it, outermost first."""
    loops = [outer]
    while isinstance(loops[-1].body, For) and loops[-1].body.kind == PARALLEL:
        loops.append(loops[-1].body)
    return loops


def all_shared_loops(root: Stmt) -> Iterator[list[For]]:
    """The groups of parallel loops of a nest that are one loop, each outermost first."""
    inside: set[For] = set()
    for s in pre_order(root):
        if isinstance(s, For) and s.kind == PARALLEL and s not in inside:
            loops = shared_loops(s)
            inside.update(loops)
            yield loops


def shared_sizes(root: Stmt, target: VectorTarget) -> dict[Var, int]:
    """The iterations of a chunk for each of the nest's parallel loops, by the variable of the outermost loop of a group."""
    return {loops[0].var: share_size(loops, target) for loops in all_shared_loops(root)}


def share_size(loops: Sequence[For], target: VectorTarget) -> int:
    """The iterations of a chunk of parallel loops that are one."""
    total = math.prod(max(1, _extent(s)) for s in loops)
    parts = total * count_stores(loops[-1].body) // target.part_stores
    return max(1, total // min(max(parts, target.least_parts), target.most_parts))


def count_stores(root: Stmt) -> int:
    """The number of stores that a statement executes; loops of unknown extents count once."""
    stores = 0
    stack = [(root, 1)]
    while stack:
        s, times = stack.pop()
        stores += times if isinstance(s, Store) else 0
        times *= max(1, _extent(s)) if isinstance(s, For) else 1
        stack.extend((k, times) for k in children(s))
    return stores


def _extended(outer: For, simplify: Simplifier, most: int) -> For:
    """A parallel loop, with loops directly inside of it made parallel as long as threads need more iterations."""
    loops = [outer]
    total = _extent(outer)
    while 0 < total < most:
        inner = loop_to_share(loops[-1], simplify)
        if inner is None:
            break
        loops.append(inner)
        total *= _extent(inner)
    if len(loops) == 1:
        return outer
    innermost = loops.pop()
    loop = For(innermost.var, innermost.extent, innermost.body, PARALLEL)
    for s in reversed(loops):
        loop = For(s.var, s.extent, loop, PARALLEL)
    return loop


def loop_to_share(outer: For, simplify: Simplifier) -> For | None:
    """The loop directly inside of a shared one that threads can share as well; None if its iterations are not independent."""
    inner = outer.body
    if not isinstance(inner, For) or inner.kind != SERIAL or not _extent(inner):
        return None
    return None if _turns_square(inner, simplify) or not _independent(inner, simplify) else inner


def with_deeper(root: Stmt, variables: Set[Var]) -> Stmt:
    """The nest with the serial loops directly inside of parallel loops over these variables made parallel."""

    def change(s: Stmt) -> Stmt:
        if isinstance(s, For) and s.kind == PARALLEL and s.var in variables and isinstance(s.body, For):
            inner = For(s.body.var, s.body.extent, s.body.body, PARALLEL)
            return For(s.var, s.extent, inner, PARALLEL)
        return s

    return rewrite_stmt(root, change) if variables else root


def _turns_square(rows: For, simplify: Simplifier) -> bool:
    """True for the rows of a square that is transposed in registers, and not divided among threads."""
    lanes = rows.body
    if not isinstance(lanes, For) or lanes.kind != VECTORIZED or not isinstance(lanes.body, Store):
        return False
    read = lanes.body.value
    if not isinstance(read, Load) or not isinstance(read.source, Buffer):
        return False
    terms, _ = simplify.linear(simplify(read.source.offset(read.indices)))
    return terms.get(rows.var) == 1 and bound(terms.get(lanes.var, 0)) > 1


def _extent(s: For) -> int:
    """The greatest number of iterations of a loop; 0 if there is no bound."""
    return bound(s.extent.int_value) if isinstance(s.extent, Const) else 0


def _independent(loop: For, simplify: Simplifier) -> bool:
    """True if no iteration of the loop accesses elements that another one writes, for fixed values of all loops around it."""
    offsets_of: dict[Buffer, list[Expr]] = {}
    written: dict[Buffer, None] = {}
    own: set[Buffer] = set()
    inside: set[Expr] = {loop.var}
    lets: set[Expr] = set()
    for s in pre_order(loop.body):
        if isinstance(s, Allocate) and s.buffer.scope != Scope.GLOBAL:
            own.add(s.buffer)
        elif isinstance(s, For):
            inside.add(s.var)
        elif isinstance(s, Let):
            lets.add(s.var)
        elif isinstance(s, Store):
            written[s.buffer] = None
            offsets_of.setdefault(s.buffer, []).append(s.buffer.offset(s.indices))
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and isinstance(e.source, Buffer):
                offsets_of.setdefault(e.source, []).append(e.source.offset(e.indices))
    return all(_is_digit(loop, offsets_of[b], inside, lets, simplify) for b in written if b not in own)


def _is_digit(loop: For, indices: Sequence[Expr], inside: set[Expr], lets: set[Expr], simplify: Simplifier) -> bool:
    """True if the offsets of different iterations differ, as their terms show.

    inside: the variables of the loop and of loops in it; all others are fixed. lets: variables that stand for expressions of
    them.
    """
    still: dict[Expr, int] | None = None
    step = 0
    large: list[int] = []
    small: list[tuple[float, float]] = []
    for place in indices:
        terms, offset = simplify.linear(place)
        c = terms.get(loop.var, 0)
        if not holds(operator.ge, c, 1) or (step and c != step):
            return False
        step = c
        fixed: dict[Expr, int] = {}
        low: float = offset
        high: float = offset
        for atom, k in terms.items():
            parts = set(post_order(atom))
            if any(isinstance(x, Load) for x in parts) or parts & lets:
                return False
            if atom is loop.var:
                continue
            if loop.var in parts:
                return False
            if not any(isinstance(x, Var) and x in inside for x in parts):
                fixed[atom] = k
                continue
            size = -k if holds(operator.lt, k, 0) else k
            if holds(operator.ge, size, step):
                large.append(k)
            elif holds(operator.lt, size, step):
                ends = [k * end for end in simplify.range(atom)]
                low, high = low + least(*ends), high + greatest(*ends)
            else:
                return False
        if still is not None and fixed != still:
            return False
        still = fixed
        small.append((low, high))
    spread = greatest(*(h for _, h in small)) - least(*(n for n, _ in small))
    period = greatest_common_divisor(*large)
    steps = loop.extent.int_value if isinstance(loop.extent, Const) else 0
    span = step * (steps - 1) + spread
    return holds(operator.lt, spread, step) and (period == 0 or holds(operator.lt, span, period))
