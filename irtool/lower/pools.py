"""Places for intervals of time in several pools of memory: each in the first pool that has room for it.

Pools are filled in their order, the first one being the one that a program should use most. As in TVM's unified static memory planner
(`greedy_by_size`), larger buffers are placed first; several orders are tried, and the one that leaves most to the last pools wins.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Sequence

from ..tir.pools import Pool
from .placing import Interval, Placed, largest_live, lowest, place

_TRIES = 60
_MANY = 400


def place_in_pools(items: Sequence[Interval], pools: Sequence[Pool]) -> tuple[list[int], Interval | None]:
    """Chooses offsets, which count the pools one behind the other.

    Returns the bytes used of each pool, and None; or, where the pools are too small, the largest interval that has no place in the best of
    the orders that were tried.
    """
    items = [i for i in items if i.size]
    first = pools[0].capacity
    if first is None or largest_live(items) <= first:  # else no placement has room there
        total, _ = place(items)
        if first is None or total <= first:
            return [total, *(0 for _ in pools[1:])], None
    orders = [
        sorted(items, key=lambda i: (-i.size, i.first)),
        sorted(items, key=lambda i: (-i.size * (i.last - i.first + 1), i.first)),
        sorted(items, key=lambda i: (-(i.last - i.first), -i.size)),
        sorted(items, key=lambda i: (i.first, -i.size)),
    ]
    best = min((_Attempt(order, pools) for order in orders), key=lambda a: a.cost)
    chance = random.Random(0)
    for _ in range(_TRIES if 1 < len(items) <= _MANY else 0):
        order = list(best.order)
        a, b = chance.randrange(len(order)), chance.randrange(len(order))
        order[a], order[b] = order[b], order[a]
        best = min(best, _Attempt(order, pools), key=lambda a: a.cost)
    if best.homeless:
        return best.used, max(best.homeless, key=lambda i: i.size)
    begins = [sum(best.used[:n]) for n in range(len(pools))]
    for item, (pool, offset) in zip(best.order, best.places, strict=True):
        item.offset = begins[pool] + offset
    return best.used, None


class _Attempt:
    """First fit in one order: the pool and the offset of each interval, and the intervals that fit nowhere."""

    def __init__(self, order: Sequence[Interval], pools: Sequence[Pool]) -> None:
        self.order = order
        self.used = [0] * len(pools)
        self.places: list[tuple[int, int]] = []
        self.homeless: list[Interval] = []
        placed: list[list[Placed]] = [[] for _ in pools]
        for item in order:
            for n, pool in enumerate(pools):
                offset = lowest(item, placed[n])
                if pool.capacity is None or offset + item.size <= pool.capacity:
                    insort(placed[n], (offset, offset + item.size, item.first, item.last))
                    self.places.append((n, offset))
                    self.used[n] = max(self.used[n], offset + item.size)
                    break
            else:
                self.homeless.append(item)
                self.places.append((0, 0))

    @property
    def cost(self) -> tuple[int, list[int]]:
        """Bytes without a place, then those of the last pool, and so on to the first."""
        return sum(i.size for i in self.homeless), self.used[::-1]
