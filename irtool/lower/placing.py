"""Places in memory for intervals of time: no two that are alive at once overlap, and little is wasted.

Offsets are chosen greedily by size (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020): larger
first, each at the lowest place free for its interval; the best of several orders, then of a bounded number of seeded exchanges.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

ALIGNMENT = 64
"""Bytes. Every offset is a multiple: a cache line, and the widest vector."""

_TRIES = 300
_SOME = 100
_MANY = 1500


Placed = tuple[int, int, int, int]
"""An interval with a place: begin and end in memory, first and last step."""


def align(n: int) -> int:
    """`n` rounded up to the alignment."""
    return -(-n // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Overlay:
    """The offsets at which an interval may overlap another one.

    Attributes:
        below: it may begin so many bytes below the other one, or lower, if `is_upper` is False; otherwise, the other one may begin so far below it.
        same: whether both may begin at one offset.
    """

    below: float
    same: bool
    is_upper: bool

    def allows(self, own: int, other: int) -> bool:
        """True if the offsets of the interval and of the other one are so."""
        upper, lower = (own, other) if self.is_upper else (other, own)
        return (self.same and own == other) or lower + self.below <= upper

    def offsets(self, other: int) -> Iterator[int]:
        """The least offset of the interval above the other one's, or the greatest below it, and equal ones, where these are allowed."""
        if self.same:
            yield other
        if self.below < math.inf:
            distance = align(math.ceil(self.below))
            yield other + distance if self.is_upper else other - distance


@dataclass(eq=False)
class Interval:
    """`size` bytes needed from step `first` to step `last` (both included).

    `over`: intervals that it may overlap though they are alive at the same time, and how.
    """

    size: int
    first: int
    last: int
    offset: int = 0
    over: dict[Interval, Overlay] = field(default_factory=dict)

    def later(self, steps: int) -> Interval:
        """The same, so many steps later, not placed yet."""
        return Interval(self.size, self.first + steps, self.last + steps)


def place(items: Sequence[Interval]) -> tuple[int, int]:
    """Chooses offsets; returns the bytes used and the lower bound (the largest sum of live sizes)."""
    items = [i for i in items if i.size]
    lower = largest_live(items)
    if any(i.over for i in items) and len(items) <= _MANY:
        total = _place_best(items, max(i.size for i in items))
        return total, min(total, lower)
    if len(items) > _MANY:
        return _sweep(items), lower
    if len(items) > _SOME:
        return _place_apart(items), lower
    return _place_best(items, lower), lower


def _place_apart(items: Sequence[Interval]) -> int:
    """Places intervals that are always alive, such as loop-carried ones, below all others: none of the others can be there."""
    begin, end = min(i.first for i in items), max(i.last for i in items)
    above: list[Interval] = []
    bottom = 0
    for i in items:
        if i.first == begin and i.last == end:
            i.offset, bottom = bottom, bottom + i.size
        else:
            above.append(i)
    top = _place_best(above, largest_live(above)) if above else 0
    for i in above:
        i.offset += bottom
    return bottom + top


def _place_best(items: Sequence[Interval], lower: int) -> int:
    """The bytes used by the best of several orders."""
    best = (-1, [0])
    orders = [
        sorted(items, key=lambda i: (-i.size, i.first)),
        sorted(items, key=lambda i: (-(i.last - i.first), -i.size)),
        sorted(items, key=lambda i: (-i.size * (i.last - i.first + 1), i.first)),
        sorted(items, key=lambda i: (i.first, -i.size)),
    ]
    if any(i.over for i in items):
        # Each output before the input that it may lie below, then the other way round.
        orders += [sorted(items, key=lambda i: (-i.last, -i.size)), sorted(items, key=lambda i: (-i.size, -i.last))]
    first = orders[0]
    for order in orders:
        if best[0] == lower:
            break
        total, offsets = _fit(order)
        if best[0] < 0 or total < best[0]:
            best, first = (total, offsets), order
    chance = random.Random(0)
    tries = _TRIES if len(items) < 400 else 20
    while best[0] > lower and tries and len(items) > 1:
        tries -= 1
        order = list(first)
        for _ in range(chance.randint(1, 3)):
            a, b = chance.randrange(len(order)), chance.randrange(len(order))
            order[a], order[b] = order[b], order[a]
        total, offsets = _fit(order)
        if total <= best[0]:
            best, first = (total, offsets), order
    for item, offset in zip(first, best[1]):
        item.offset = offset
    return max(best[0], 0)


def _sweep(items: Sequence[Interval]) -> int:
    """First fit in order of time, in a list of gaps: for programs of very many steps."""
    gaps: list[tuple[int, int]] = []
    live: list[tuple[int, int, int]] = []
    top = 0
    for item in sorted(items, key=lambda i: (i.first, -i.size)):
        while live and live[0][0] < item.first:
            _, begin, size = heapq.heappop(live)
            insort(gaps, (begin, begin + size))
            gap = gaps.index((begin, begin + size))
            if gap + 1 < len(gaps) and gaps[gap][1] == gaps[gap + 1][0]:
                gaps[gap : gap + 2] = [(gaps[gap][0], gaps[gap + 1][1])]
            if gap and gaps[gap - 1][1] == gaps[gap][0]:
                gaps[gap - 1 : gap + 1] = [(gaps[gap - 1][0], gaps[gap][1])]
        for n, (begin, end) in enumerate(gaps):
            if end - begin >= item.size:
                item.offset = begin
                gaps[n : n + 1] = [(begin + item.size, end)] if end - begin > item.size else []
                break
        else:
            if gaps and gaps[-1][1] == top:
                item.offset = gaps.pop()[0]
            else:
                item.offset = top
            top = item.offset + item.size
        heapq.heappush(live, (item.last, item.offset, item.size))
    return top


def largest_live(items: Sequence[Interval]) -> int:
    """The largest sum of sizes that are alive at one time."""
    events: list[tuple[int, int, int]] = []
    for i in items:
        events += [(i.first, 0, i.size), (i.last, 1, -i.size)]
    events.sort()
    live = most = 0
    for _, _, change in events:
        live += change
        most = max(most, live)
    return most


def live_sums(items: Sequence[Interval], steps: int) -> list[int]:
    """The sum of the sizes that are alive during each of so many steps."""
    changes = [0] * (steps + 1)
    for i in items:
        changes[i.first] += i.size
        changes[i.last + 1] -= i.size
    return list(accumulate(changes[:-1]))


def _fit(order: Sequence[Interval]) -> tuple[int, list[int]]:
    """First fit in this order."""
    placed: list[Placed] = []
    offsets: list[int] = []
    total = 0
    chosen: dict[Interval, int] = {}
    for item in order:
        offset = _lowest_overlaid(item, chosen) if item.over else lowest(item, placed)
        offsets.append(offset)
        chosen[item] = offset
        insort(placed, (offset, offset + item.size, item.first, item.last))
        total = max(total, offset + item.size)
    return total, offsets


def _lowest_overlaid(item: Interval, chosen: Mapping[Interval, int]) -> int:
    """The lowest offset of an interval that may overlap others of those with an offset."""
    others = [(x, start) for x, start in chosen.items() if x.first <= item.last and item.first <= x.last]
    offsets = {0, *(start + x.size for x, start in others)}
    offsets |= {o for x, start in others if x in item.over for o in item.over[x].offsets(start) if o >= 0}
    return min(o for o in offsets if all(_may_lie(item, o, x, start) for x, start in others))


def _may_lie(item: Interval, offset: int, other: Interval, start: int) -> bool:
    apart = offset >= start + other.size or start >= offset + item.size
    return apart or (other in item.over and item.over[other].allows(offset, start))


def lowest(item: Interval, placed: Sequence[Placed]) -> int:
    """The lowest offset that is free while the interval lasts; `placed` is sorted."""
    offset = 0
    for begin, end, first, last in placed:
        if first <= item.last and item.first <= last:
            if begin - offset >= item.size:
                break
            if end > offset:
                offset = end
    return offset
