"""Values that lie in one place of a frame, one after the other.

An output of a kernel may take the place of an input that dies with it, where the kernel reads each element before it writes it.
A value that moves to a loop's slot for the next iteration may be computed there, where nothing in the iteration reads the slot any more.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..tir.kernel import Kernel
from ..tir.program import TEMP, CopySlot, RunKernel, Slot, Step
from .overlaps import Overlap
from .placing import Interval, Overlay
from .workspace import Stages


@dataclass(frozen=True)
class _Making:
    """The output of a kernel that makes a slot, and when the kernel's last stage is run."""

    step: RunKernel
    output: int
    end: int


class Moves:
    """Reads and writes of loop-carried slots, from a walk over a function's steps.

    Times are those of the intervals. The arms in which an iteration may end (arms of a branch that is a body's last step, and bodies
    themselves) lie in each other; what comes after an arm is not run in the same iteration.
    """

    def __init__(self) -> None:
        self.state: dict[Slot, None] = {}
        self.copies: list[tuple[int, CopySlot]] = []
        self._reads: dict[Slot, list[int]] = {}
        self._ends: list[int] = []
        self._open: list[int] = []
        self._begun: list[int] = []
        self._arms: list[int] = []

    def enter(self, time: int) -> None:
        """An arm begins."""
        self._open.append(len(self._ends))
        self._ends.append(time)
        self._mark(time)

    def leave(self, time: int) -> None:
        """The innermost arm ends before that time."""
        self._ends[self._open.pop()] = time - 1
        if self._open:
            self._mark(time)

    def _mark(self, time: int) -> None:
        self._begun.append(time)
        self._arms.append(self._open[-1])

    def read(self, slot: Slot, time: int) -> None:
        """A slot is read."""
        if slot in self.state:
            self._reads.setdefault(slot, []).append(time)

    def add(self, time: int, s: CopySlot) -> None:
        """A copy to a slot that is carried, or another one."""
        if s.target.resolve() in self.state:
            self.copies.append((time, s))

    def sort(self) -> None:
        """After the walk: a kernel's stages may read in another order than that of its inputs."""
        for times in self._reads.values():
            times.sort()

    def reads_after(self, slot: Slot, time: int) -> list[int]:
        """The times at which a slot may be read at that time or later in the same iteration."""
        times = self._reads.get(slot, [])
        arm = self._arms[bisect_right(self._begun, time) - 1]
        return times[bisect_left(times, time) : bisect_right(times, self._ends[arm])]


def share_in_place(
    ordered: Sequence[tuple[int, Step]], intervals: dict[Slot, Interval], stages: Mapping[Kernel, Stages]
) -> dict[Slot, Interval]:
    """The interval of each slot, after outputs have taken the places of inputs that die with them.

    `stages` says of each kernel when it writes its outputs.
    """
    group = dict(intervals)
    members: dict[Interval, list[Slot]] = {i: [s] for s, i in intervals.items()}
    for clock, s in ordered:
        if not isinstance(s, RunKernel):
            continue
        taken: set[int] = set()
        for i, o in s.kernel.in_place:
            # A schedule may have made several stages of the one that reads and writes: the pair holds all the same.
            written_at, until = clock + stages[s.kernel].written[o], clock + stages[s.kernel].read[i]
            source, out = s.inputs[i].resolve(), s.outputs[o].resolve()
            if source.kind != TEMP or out.kind != TEMP or o in taken or source is out:
                continue
            a, b = group[source], group[out]
            if a is b or a.last != max(written_at, until) or b.first != written_at or a.size != b.size:
                continue
            if not may_lie_in(s, source, o):
                continue
            # The output's interval has one slot (it begins here); it joins the input's.
            a.last = max(a.last, b.last)
            for slot in members.pop(b):
                group[slot] = a
                members[a].append(slot)
            taken.add(o)
    return group


def overlay(
    s: RunKernel, clock: int, overlaps: Sequence[Overlap], group: Mapping[Slot, Interval], stages: Stages
) -> None:
    """Notes for the intervals of a kernel's inputs that die with it how its outputs may overlap them."""
    used = [x.resolve() for x in s.inputs]
    for x in overlaps:
        source, out = used[x.input], s.outputs[x.output].resolve()
        if source.kind != TEMP or out.kind != TEMP or used.count(source) > 1:
            continue
        a, b = group[source], group[out]
        if a is b or a.last != clock + stages.read[x.input] or b.first != clock + stages.written[x.output]:
            continue
        if b not in a.over and not any(group.get(y) is a for n, y in enumerate(used) if n != x.input):
            a.over[b] = Overlay(x.below, x.same, True)
            b.over[a] = Overlay(x.below, x.same, False)


def may_lie_in(s: RunKernel, source: Slot, o: int) -> bool:
    """True if the output may lie where the slot does, as whichever inputs the kernel gets it."""
    allowed = {i for i, out in s.kernel.in_place if out == o}
    return all(i in allowed for i, x in enumerate(s.inputs) if x.resolve() is source)


def share_moved(
    ordered: Sequence[tuple[int, Step]],
    moves: Moves,
    intervals: dict[Slot, Interval],
    group: dict[Slot, Interval],
    stages: Mapping[Kernel, Stages],
) -> None:
    """Puts values that move to slots of a loop into the places of those slots, in `group`, where that changes nothing.

    A value may lie in a slot from when it is begun on if the iteration does not read the slot from then on, but for the kernel
    that makes it in place, and if nothing else is put there meanwhile.
    """
    moves.sort()
    members: dict[Interval, list[Slot]] = {}
    for slot, interval in group.items():
        members.setdefault(interval, []).append(slot)
    makers: dict[Slot, _Making] = {}
    if moves.copies:
        for clock, s in ordered:
            if isinstance(s, RunKernel):
                end = clock + stages[s.kernel].count - 1
                makers.update((x.resolve(), _Making(s, o, end)) for o, x in enumerate(s.outputs))
    written: dict[Slot, list[tuple[int, int, Slot]]] = {}
    """For each slot, from when to when a value is put there."""
    for time, s in moves.copies:
        written.setdefault(s.target.resolve(), []).append((time, time, s.source.resolve()))
    for _, s in moves.copies:
        source, target = s.source.resolve(), s.target.resolve()
        if source.kind != TEMP:
            continue
        a, b = group[target], group[source]
        if a is b or a.size != b.size or any(m in moves.state for m in members[b]):
            continue
        inside = set(members[b])
        if any(first <= b.last and b.first <= last and of not in inside for first, last, of in written[target]):
            continue
        if not all(
            _made_in_place(time, b.first, target, members[b], intervals, makers)
            for time in moves.reads_after(target, b.first)
        ):
            continue
        written[target].append((b.first, b.last, source))
        for slot in members.pop(b):
            group[slot] = a
            members[a].append(slot)


def _made_in_place(
    time: int,
    begun: int,
    target: Slot,
    members: Sequence[Slot],
    intervals: dict[Slot, Interval],
    makers: Mapping[Slot, _Making],
) -> bool:
    """True if the reader of the target at that time is the kernel that makes the first of the members, which begins then, and the
    kernel may make it in the place of the target."""
    first = [makers[m] for m in members if m in makers and intervals[m].first == begun]
    return bool(first) and all(
        time <= m.end and may_lie_in(m.step, target, m.output) and any(x.resolve() is target for x in m.step.inputs)
        for m in first
    )
