"""The steps that a function runs again.

A value that waits for a reader while memory is short is computed again for the reader, by the same kernel from the same operands: its bits are the
same. The choice is greedy: of the values that wait at the time of the largest sum of live sizes, the one with the most bytes for the least work
(Kirisame et al., Dynamic Tensor Rematerialization, 2021, choose so while they run; Chen et al., Training Deep Nets with Sublinear Memory Cost,
2016, at fixed places).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...symbolic_int import nominal, planned
from ...tir.program import STATE, TEMP, HostFunction, Recomputed, RunKernel, Slot
from ..placing import Interval, live_sums

_MOST_STEPS = 16
"""The largest number of steps that compute one value again."""

_SMALL = 16
"""An operand with at most this share of the value's bytes stays in memory."""


class _Life(NamedTuple):
    """The uses of a temporary: numbers of steps, the first of them its producer."""

    uses: list[int]

    @property
    def first(self) -> int:
        return self.uses[0]

    @property
    def last(self) -> int:
        return self.uses[-1]


@dataclass(frozen=True)
class _Choice:
    """Steps to run again.

    Attributes:
        value: the temporary whose later readers get the new one.
        before: the number of the step that needs it.
        producers: numbers of the steps to run again, in order.
        work: that they take.
    """

    value: Slot
    before: int
    producers: tuple[int, ...]
    work: int


def work_of(s: RunKernel) -> int:
    """The work of a step: multiply-adds, and elements of operands and results, which an element-by-element kernel takes its time for."""
    return nominal(s.kernel.macs) + sum(planned(x.nbytes) // 4 for x in (*s.inputs, *s.outputs))


class Recomputation:
    """A function of kernel calls alone, whose steps may be run again.

    Args:
        function: its body is changed.
    """

    def __init__(self, function: HostFunction) -> None:
        self.function = function
        self.refused: set[tuple[Slot, Slot | None, int]] = set()
        self.recomputed: list[Recomputed] = []

    def reduce(self, limit: int, share: float = inf) -> int:
        """Runs steps again until no more bytes than the limit are live at one time, nothing more helps, or that would take more than a share of
        the function's work; the bytes at the end."""
        left = share * sum(map(work_of, self._body))
        while True:
            body = self._body
            lives = _lives(body)
            live = _live_bytes(body, lives)
            most = max(live)
            if most <= limit:
                return most
            peak = live.index(most)
            choice = self._best(body, lives, peak)
            if choice is None:
                return most
            if choice.work > left or not self._apply(choice, (most, live.count(most))):
                self.refused.add(self._key(choice.value, choice.before))
            else:
                left -= choice.work

    @property
    def _body(self) -> list[RunKernel]:
        return [s for s in self.function.body if isinstance(s, RunKernel)]

    def _key(self, value: Slot, before: int) -> tuple[Slot, Slot | None, int]:
        """A name for a choice that later changes leave as it is: the reader by its output."""
        reader = self._body[before]
        return value, reader.outputs[0].resolve() if reader.outputs else None, len(reader.inputs)

    def _best(self, body: Sequence[RunKernel], lives: Mapping[Slot, _Life], peak: int) -> _Choice | None:
        """The choice with the most bytes for its work, of values that wait at the peak."""
        producers = {x.resolve(): n for n, s in enumerate(body) for x in s.outputs}
        updates = {s.slot.resolve(): producers.get(s.next.resolve(), len(body)) for s in self.function.states}
        best: _Choice | None = None
        best_score = 0.0
        for value, life in lives.items():
            if not life.first < peak < life.last or peak in life.uses or len(body[life.first].outputs) != 1:
                continue
            before = next(u for u in life.uses if u > peak)
            if self._key(value, before) in self.refused:
                continue
            steps = _closure(value, before, peak, body, lives, producers, updates)
            if steps is None:
                continue
            work = sum(work_of(body[n]) for n in steps)
            score = planned(value.nbytes) / (1 + work)
            if score > best_score:
                best, best_score = _Choice(value, before, steps, work), score
        return best

    def _apply(self, choice: _Choice, before: tuple[int, int]) -> bool:
        """Runs the steps again. False, and no change, unless fewer bytes are live then at most, or in fewer steps, than `before`."""
        old = self.function.body
        body = self._body
        new: dict[Slot, Slot] = {}
        again: list[RunKernel] = []
        for n in choice.producers:
            s = body[n]
            outputs = [Slot(f"{x.resolve().name}_again", x.resolve().shape, x.resolve().dtype, TEMP) for x in s.outputs]
            again.append(RunKernel(s.kernel, [new.get(x.resolve(), x) for x in s.inputs], outputs, places=s.places))
            new.update((x.resolve(), o) for x, o in zip(s.outputs, outputs, strict=True))
        value = choice.value
        later = [
            RunKernel(
                s.kernel,
                [new[value] if x.resolve() is value else x for x in s.inputs],
                s.outputs,
                places=s.places,
            )
            if any(x.resolve() is value for x in s.inputs)
            else s
            for s in body[choice.before :]
        ]
        changed = [*body[: choice.before], *again, *later]
        live = _live_bytes(changed, _lives(changed))
        if (max(live), live.count(max(live))) >= before:
            return False
        self.function.body = [*changed, *old[len(body) :]]
        macs = sum(nominal(s.kernel.macs) for s in again)
        names = tuple(s.outputs[0].resolve().name.removesuffix("_again") for s in again[:-1])
        self.recomputed.append(
            Recomputed(value.name, planned(value.nbytes), again[-1].kernel, names, macs, choice.work)
        )
        return True


def _closure(
    value: Slot,
    before: int,
    peak: int,
    body: Sequence[RunKernel],
    lives: Mapping[Slot, _Life],
    producers: Mapping[Slot, int],
    updates: Mapping[Slot, int],
) -> tuple[int, ...] | None:
    """The steps that compute a value again in front of a step, from values in memory; None if they are too many, or an operand is lost."""
    size = planned(value.nbytes)
    steps: set[int] = set()
    waiting = [value]
    extended = 0
    while waiting:
        n = producers[waiting.pop()]
        if n in steps:
            continue
        steps.add(n)
        if len(steps) > _MOST_STEPS or len(body[n].outputs) != 1:
            return None
        for x in body[n].inputs:
            x = x.resolve()
            if x.kind == STATE and updates.get(x, before) < before:
                return None
            if x.kind != TEMP or lives[x].last >= before:
                continue
            if lives[x].last >= peak and planned(x.nbytes) <= size:
                continue
            if planned(x.nbytes) * _SMALL <= size:
                extended += planned(x.nbytes)
                continue
            waiting.append(x)
    return tuple(sorted(steps)) if 2 * extended < size else None


def _lives(body: Sequence[RunKernel]) -> dict[Slot, _Life]:
    lives: dict[Slot, _Life] = {}
    for n, s in enumerate(body):
        for x in (*s.inputs, *s.outputs):
            x = x.resolve()
            if x.kind == TEMP:
                uses = lives.setdefault(x, _Life([])).uses
                if not uses or uses[-1] != n:
                    uses.append(n)
    return lives


def _live_bytes(body: Sequence[RunKernel], lives: Mapping[Slot, _Life]) -> list[int]:
    """The bytes that are live during each step: temporaries, and scratch memory; an output may lie where an input does."""
    sums = live_sums([Interval(planned(x.nbytes), life.first, life.last) for x, life in lives.items()], len(body))
    return [
        live + s.kernel.workspace - _in_place(s, n, lives) for n, (s, live) in enumerate(zip(body, sums, strict=True))
    ]


def _in_place(s: RunKernel, n: int, lives: Mapping[Slot, _Life]) -> int:
    """The bytes of outputs in the places of inputs that die with the step."""
    total = 0
    used: set[int] = set()
    for i, o in s.kernel.in_place:
        source, out = s.inputs[i].resolve(), s.outputs[o].resolve()
        if source in lives and out in lives and o not in used and lives[source].last == n and lives[out].first == n:
            if source.nbytes == out.nbytes:
                used.add(o)
                total += planned(out.nbytes)
    return total
