"""The scratch memory of a kernel, and the live ranges in it.

A kernel's stages, the statements at the top of its nest, count as steps of their own: an output that is first written by a later
stage than the last that reads an input may lie where the input did.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..symbolic_int import planned
from ..tir.expr import Load, post_order
from ..tir.kernel import Kernel, Placement, part_bytes
from ..tir.stmt import Allocate, Buffer, Scope, Stmt, Store, expressions, pre_order
from .overlaps import top_level
from .placing import Interval, align
from .placing_formulas import place_formulas

_IN_WORKSPACE = (Scope.GLOBAL, Scope.THREAD)


@dataclass(frozen=True)
class Stages:
    """The times at which a kernel uses its buffers, counted in the statements at the top of its nest.

    Attributes:
        count: how many there are, at least one.
        read: for each input, the last stage that uses it.
        written: for each output, the first stage that uses it.
        workspace: the first and the last stage that use scratch memory.
    """

    count: int
    read: tuple[int, ...]
    written: tuple[int, ...]
    workspace: tuple[int, int]

    @property
    def in_turn(self) -> list[tuple[int, int]]:
        """Pairs (input, output) of which the input is done with before the output is begun: they may share memory."""
        return [(i, o) for i, r in enumerate(self.read) for o, w in enumerate(self.written) if r < w]


@dataclass(frozen=True)
class Workspace:
    """The stages of a kernel, and the stages in which each of its arena buffers is in use."""

    stages: Stages
    buffers: dict[Buffer, Interval]


def plan_workspace(kernel: Kernel, threads: int = 1) -> Workspace:
    """Gives every arena buffer of the kernel an offset in its scratch memory, the kernel's `placement`; each of so many threads has its
    part of those that are a thread's own.

    Raises AssertionError for a buffer that a statement reads and neither it nor one before writes: a rewrite lost its producer.
    """
    intervals: dict[Buffer, Interval] = {}
    allocated = [
        s.buffer for s in pre_order(kernel.body) if isinstance(s, Allocate) and s.buffer.scope in _IN_WORKSPACE
    ]
    tops = top_level(kernel.body)
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    tracked, written = {*allocated, *kernel.params}, {*kernel.params}
    for clock, top in enumerate(tops):
        touched, stored = _touched(top, tracked)
        written |= stored
        for b in touched:
            if b not in written:
                raise AssertionError(f"{kernel.name} reads {b.name}, which no statement before wrote")
            first.setdefault(b, clock)
            last[b] = clock
    for b in allocated:
        if b in first:
            size = part_bytes(b) * threads if b.scope == Scope.THREAD else planned(b.nbytes)
            intervals[b] = Interval(align(size), first[b], last[b])
    total, _ = place_formulas(list(intervals.values()))
    used = list(intervals.values())
    stages = Stages(
        max(1, len(tops)),
        tuple(last.get(b, 0) for b in kernel.inputs),
        tuple(first.get(b, 0) for b in kernel.outputs),
        (min((i.first for i in used), default=0), max((i.last for i in used), default=0)),
    )
    kernel.placement = Placement(
        total or (1 if allocated else 0), {b: i.offset for b, i in intervals.items()}, threads=threads
    )
    return Workspace(stages, intervals)


def _touched(root: Stmt, buffers: set[Buffer]) -> tuple[list[Buffer], set[Buffer]]:
    """The buffers that a statement uses, and those that it stores to."""
    touched: dict[Buffer, None] = {}
    stored: set[Buffer] = set()
    for s in pre_order(root):
        if isinstance(s, Store) and s.buffer in buffers:
            touched[s.buffer] = None
            stored.add(s.buffer)
        if isinstance(s, Allocate) and s.buffer in buffers:
            touched[s.buffer] = None
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and e.source in buffers:
                touched[e.source] = None
    return list(touched), stored
