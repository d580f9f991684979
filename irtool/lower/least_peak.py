"""The order of steps in which the least memory is alive at one time.

The search goes over sets of steps that have run, in order of the most memory that was alive on the way to each (Ahn et al., Ordering Chaos: Memory-Aware
Scheduling of Irregularly Wired Neural Networks for Edge Devices, 2020). A set is reached once: what is alive after it depends on the set, not on the order.
A step that frees as much as it needs, and needs no more on the way than was alive before, runs as soon as it can: no order is better.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_SETS = 1 << 12
"""The largest number of sets that the search visits."""


@dataclass(frozen=True)
class StepMemory:
    """The memory of a step.

    Attributes:
        values: numbers of the values that it reads or writes.
        scratch: bytes that it needs only while it runs.
        replaced: pairs (value, value): the second may be written in the place of the first, if that is not needed afterwards.
    """

    values: tuple[int, ...]
    scratch: int = 0
    replaced: tuple[tuple[int, int], ...] = ()


class StepOrders:
    """The steps of a function, the steps that each of them waits for, and the bytes of the values.

    A value is alive from the first to the last of the steps that have it among their `values`.
    """

    def __init__(self, steps: Sequence[StepMemory], before: Sequence[Sequence[int]], sizes: Sequence[int]) -> None:
        self.steps, self.sizes = steps, sizes
        self._before = [sum(1 << n for n in dict.fromkeys(others)) for others in before]
        self._users = [0] * len(sizes)
        for n, s in enumerate(steps):
            for v in s.values:
                self._users[v] |= 1 << n
        self._after: list[list[int]] = [[] for _ in steps]
        for n, others in enumerate(before):
            for m in dict.fromkeys(others):
                self._after[m].append(n)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes that are alive at one time."""
        ran = live = most = 0
        for n in order:
            during, live = self._run(ran, live, n)
            most, ran = max(most, during), ran | 1 << n
        return most

    def area(self, order: Sequence[int]) -> int:
        """The sum over all steps of the bytes that are alive."""
        ran = live = area = 0
        for n in order:
            during, live = self._run(ran, live, n)
            area, ran = area + during, ran | 1 << n
        return area

    def least(self) -> int:
        """A lower bound of all peaks: the largest need of a single step."""
        return max((self._alone(s) for s in self.steps), default=0)

    def _alone(self, step: StepMemory) -> int:
        shared = sum(min(self.sizes[a], self.sizes[b]) for a, b in step.replaced)
        return max(0, sum(self.sizes[v] for v in step.values) - shared) + step.scratch

    def best(self, limit: int) -> list[int] | None:
        """The order with the least peak, if that is below `limit` bytes. None if no order is below, or the search ends early: it visits few sets."""
        start, whole = 0, (1 << len(self.steps)) - 1
        ready = sum(1 << n for n, others in enumerate(self._before) if not others)
        heap = [(0, 0, 0, start, 0, ready)]
        came_from: dict[int, tuple[int, int, int]] = {start: (0, 0, -1)}
        """For each set the least peak so far, the set before and the step between them."""
        pushed = 0
        while heap:
            most, count, _, ran, live, ready = heapq.heappop(heap)
            if ran == whole:
                return self._way(came_from, ran)
            if most > came_from[ran][0]:
                continue
            for n, during, left in self._next(ran, live, ready, most):
                reached, peak = ran | 1 << n, max(most, during)
                if peak >= limit or (reached in came_from and came_from[reached][0] <= peak):
                    continue
                came_from[reached] = (peak, ran, n)
                pushed += 1
                if pushed > _MOST_SETS:
                    return None
                opened = sum(1 << m for m in self._after[n] if not self._before[m] & ~reached)
                heapq.heappush(heap, (peak, count - 1, pushed, reached, left, ready & ~(1 << n) | opened))
        return None

    def greedy(self) -> list[int]:
        """An order for functions of any size: the next step is the one after which the least is alive, and of several the one that
        needs least on the way."""
        waiting = [others.bit_count() for others in self._before]
        ready = [n for n, count in enumerate(waiting) if not count]
        order: list[int] = []
        ran = live = 0
        while ready:
            choices = [(left, during, n) for n in ready for during, left in [self._run(ran, live, n)]]
            live, _, n = min(choices)
            ready.remove(n)
            order.append(n)
            ran |= 1 << n
            for m in self._after[n]:
                waiting[m] -= 1
                if not waiting[m]:
                    ready.append(m)
        return order

    def _next(self, ran: int, live: int, ready: int, most: int) -> list[tuple[int, int, int]]:
        """The steps that may run next, with the bytes that are alive while each runs and after it; one, if no other is better."""
        steps = []
        for n in _bits(ready):
            during, left = self._run(ran, live, n)
            if during <= most and left <= live:
                return [(n, during, left)]
            steps.append((n, during, left))
        return steps

    def _run(self, ran: int, live: int, n: int) -> tuple[int, int]:
        """The bytes that are alive while a step runs, and after it."""
        step, reached = self.steps[n], ran | 1 << n
        begun = [v for v in step.values if not self._users[v] & ran]
        ended = {v for v in step.values if self._users[v] & reached == self._users[v]}
        during = live + sum(self.sizes[v] for v in begun)
        left = during - sum(self.sizes[v] for v in ended)
        replaced: set[int] = set()
        for old, new in step.replaced:
            if old in ended and old not in replaced and new in begun and new not in replaced:
                replaced |= {old, new}
                during -= min(self.sizes[old], self.sizes[new])
        return during + step.scratch, left

    def _way(self, came_from: dict[int, tuple[int, int, int]], ran: int) -> list[int]:
        order: list[int] = []
        while ran:
            _, ran, n = came_from[ran]
            order.append(n)
        return order[::-1]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
