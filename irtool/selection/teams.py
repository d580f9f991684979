"""The division of a kernel's nest between the threads of a team, which run it together (see `backends.c.team`).

for i: … ; for j (parallel): …      ⇒      one thread: for i: … ; barrier; shared: for j: …
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

from ..schedule.graph.threads import shared_loops
from ..symbolic_int import bound, estimate, holds
from ..tir.dtypes import itemsize
from ..tir.expr import Const, Load, post_order
from ..tir.kernel import Kernel
from ..tir.program import Program
from ..tir.stmt import (
    PARALLEL,
    SERIAL,
    Allocate,
    Buffer,
    For,
    Let,
    Lowered,
    Scope,
    Seq,
    Stmt,
    Store,
    children,
    expressions,
    pre_order,
    seq,
)
from ..tir.trip_counts import count_runs
from .nests import lower_parts
from .tiles import TileRegion


@dataclass(frozen=True)
class Division:
    """The parts of a nest by the threads that run them.

    Attributes:
        shared: loops whose steps the threads share.
        alone: the statements that one thread runs.
        each: the statements that every thread runs in full, as they fill private memory.
        common: loops around these, whose steps all threads run in lockstep.
    """

    shared: frozenset[Stmt]
    alone: frozenset[Stmt]
    each: frozenset[Stmt]
    common: frozenset[Stmt]


@dataclass(frozen=True)
class Shared:
    """Parallel loops that are one, whose steps the threads of a team take in parts.

    Attributes:
        loops: the loops, outermost first; their extents are known.
        share: steps of a part.
        halved: the loop whose first half threads take first, in all steps of the others; None without one.
    """

    loops: tuple[For, ...]
    share: int
    halved: For | None

    @property
    def steps(self) -> int:
        """Steps of all loops together."""
        return prod(s.steps for s in self.loops)

    @property
    def parts(self) -> int:
        """The number of parts, the last of which may be smaller."""
        return -(-self.steps // self.share)


class OneThread:
    """A statement that the first thread of a team runs."""


class EachThread:
    """A statement that every thread of a team runs, as it fills private memory."""


@dataclass(frozen=True)
class Barrier:
    """The place where the threads of a team wait for each other. `opens`: threads may still join the team behind it."""

    opens: bool


def share_with_team(root: Stmt, kernel: Kernel) -> Callable[[Stmt], Stmt]:
    """The rewrite of the statements of a nest for a team, for `lower_parts`. Nothing changes if no loop can be shared."""
    division = divide(root)
    if division is None:
        return lambda s: s
    before, behind = _barriers(root, division)
    barrier = Lowered(Seq(()), Barrier(not division.each))

    def change(s: Stmt) -> Stmt:
        changed = s
        if s in division.shared:
            assert isinstance(s, For)
            loops = tuple(shared_loops(s))
            halved = kernel.halves.get(s.var)
            share = max(1, kernel.shares.get(s.var, 1))
            changed = Lowered(s, Shared(loops, share, next((x for x in loops if x.var is halved), None)))
        elif s in division.alone:
            changed = Lowered(s, OneThread())
        elif s in division.each:
            changed = Lowered(s, EachThread())
        elif isinstance(s, Lowered) and isinstance(s.code, TileRegion):
            changed = Lowered(lower_parts(s.body, change), s.code)
        elif s in behind:
            assert isinstance(s, For)
            changed = For(s.var, s.extent, seq([s.body, barrier]), s.kind, s.unroll)
        return seq([barrier, changed]) if s in before else changed

    return change


def _barriers(root: Stmt, division: Division) -> tuple[set[Stmt], set[Stmt]]:
    """The statements with a barrier in front of them, and the loops with a barrier at the end of each step: some threads may
    still run earlier statements there."""
    before: set[Stmt] = set()
    behind: set[Stmt] = set()
    waits = False
    stack: list[Stmt | Callable[[], None]] = [root]

    def end_step(s: Stmt) -> None:
        nonlocal waits
        if waits:
            behind.add(s)
        waits = False

    while stack:
        s = stack.pop()
        if not isinstance(s, Stmt):
            s()
            continue
        is_divided = s in division.shared or s in division.alone or s in division.each
        configures = isinstance(s, Lowered) and isinstance(s.code, TileRegion) and s.body in division.shared
        if waits and (is_divided or configures or s in division.common):
            before.add(s)
            waits = False
        if is_divided:
            waits = True
            continue
        if s in division.common:
            stack.append(partial(end_step, s))
        stack.extend(reversed(children(s)))
    return before, behind


def divide(body: Stmt) -> Division | None:
    """The division of a kernel's nest; None if no loop of it can be shared.

    Loops inside of a shared one are not shared, nor loops at places without a barrier, such as inside of a condition.
    """
    holds: set[Stmt] = set()
    stack: list[tuple[Stmt, tuple[Stmt, ...]]] = [(body, ())]
    while stack:
        s, around = stack.pop()
        if isinstance(s, For) and s.kind == PARALLEL:
            holds.update((*around, s))
        stack.extend((k, (*around, s)) for k in children(s))
    shared: set[Stmt] = set()
    alone: set[Stmt] = set()
    each: set[Stmt] = set()
    common: set[Stmt] = set()
    own: set[Buffer] = set()
    waiting = [body]
    while waiting:
        s = waiting.pop()
        written = _written(s) if own and not (s in holds and _is_passed(s)) else set()
        if written and written <= own:
            each.add(s)
        elif written & own:
            return None
        elif s in holds and _is_passed(s):
            if isinstance(s, For):
                common.add(s)
            elif isinstance(s, Allocate) and s.buffer.scope != Scope.GLOBAL:
                own.add(s.buffer)
            waiting.extend(children(s))
        elif isinstance(s, For) and s.kind == PARALLEL and all(map(_has_steps, shared_loops(s))):
            shared.add(s)
        else:
            alone.add(s)
    return Division(frozenset(shared), frozenset(alone), frozenset(each), frozenset(common)) if shared else None


def _is_passed(s: Stmt) -> bool:
    """True for a statement that all threads can run in lockstep, up to loops inside."""
    if isinstance(s, Lowered):
        return isinstance(s.code, TileRegion)
    if isinstance(s, Let):  # a length of a band, which each thread computes for itself
        return not any(isinstance(e, Load) for e in post_order(s.value))
    return isinstance(s, Seq | Allocate) or (isinstance(s, For) and s.kind == SERIAL and _has_steps(s))


def _has_steps(s: For) -> bool:
    """True for a loop of a constant extent that is never 0."""
    return isinstance(s.extent, Const) and holds(operator.gt, s.extent.value, 0)


def _written(s: Stmt) -> set[Buffer]:
    """The buffers from outside that a statement writes."""
    parts = list(pre_order(s))
    inside = {x.buffer for x in parts if isinstance(x, Allocate)}
    return {x.buffer for x in parts if isinstance(x, Store)} - inside


def runs_in_teams(program: Program) -> bool:
    """True if a team shares loops of the program."""
    return any(divide(k.body) is not None for k in program.kernels)


def shared_work(program: Program) -> int:
    """Stores in the shared loops of one run, or bytes that these loops read, if those are more.

    A multiply-add is a store, and takes as long as a byte from the L2 or L3 cache: products of one row are bound by reads, not by
    arithmetic.
    """
    return sum(times * _shared_work(kernel) for kernel, times in count_runs(program).items())


@estimate
def _shared_work(kernel: Kernel) -> int:
    """The work of one kernel. A buffer counts as read once at most, a table as often as it is looked up."""
    stores = 0
    reads: Counter[Buffer] = Counter()
    stack = [(kernel.body, 1, False)]
    while stack:
        s, times, shared = stack.pop()
        if shared:
            stores += times if isinstance(s, Store) else 0
            for e in post_order(*expressions(s)):
                if isinstance(e, Load) and isinstance(e.source, Buffer):
                    reads[e.source] += times
        if isinstance(s, For):
            times *= s.extent.int_value if isinstance(s.extent, Const) else 1
            shared = shared or s.kind == PARALLEL
        stack.extend((k, times, shared) for k in children(s))
    operands = set(kernel.params)
    read = sum(min(bound(n * itemsize(b.dtype)), bound(b.nbytes)) for b, n in reads.items() if b in operands)
    return max(bound(stores), read)
