"""One of several channels that lie side by side: every second, third or fourth element, from as many vectors of neighbours.

Whole vectors from the first channel of the first element on are loaded, whichever channel it is. So the loads of all channels
are the same, and compilers make them once; of four channels, half of the shuffles are the same, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 4
"""Channels."""

_NAME = re.compile(r"channel_(\d+)_(\d+)")


@dataclass(frozen=True)
class Channel:
    """Channel `number` of `count`."""

    count: int
    number: int

    @property
    def name(self) -> str:
        """The name of the function that loads it."""
        return f"channel_{self.count}_{self.number}"

    @property
    def last(self) -> int:
        """The number of the vector that has the elements."""
        return 2 * self.count - 2

    @staticmethod
    def of(name: str) -> Channel | None:
        """The channel that a function loads; None if it loads something else."""
        match = _NAME.fullmatch(name)
        return Channel(int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True)
class Pick:
    """Vector `result` has elements `mask` of vectors `a` and `b` end to end. The vectors that are loaded are the first ones."""

    result: int
    a: int
    b: int
    mask: tuple[int, ...]


def picks(channel: Channel, lanes: int) -> list[Pick]:
    """The shuffles that make the vector of a channel, the last of which gives it."""
    count, at, n = channel.count, channel.number, lanes
    every = tuple(2 * k + at % 2 for k in range(n))
    if count == 2:
        return [Pick(2, 0, 1, every)]
    if count == 4:
        return [Pick(4, 0, 1, every), Pick(5, 2, 3, every), Pick(6, 4, 5, tuple(2 * k + at // 2 for k in range(n)))]
    positions = [3 * k + at for k in range(n)]
    first = tuple(p if p < 2 * n else 0 for p in positions)
    rest = tuple(k if p < 2 * n else p - n for k, p in enumerate(positions))
    return [Pick(3, 0, 1, first), Pick(4, 3, 2, rest)]
