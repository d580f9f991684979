"""One of several interleaved channels: every second, third or fourth element, from as many contiguous vectors.

For any channel, full vectors are loaded from the first channel of the first element on. So all channels have the same loads,
which compilers merge; four channels share half of the shuffles, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 4
"""The most channels."""

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
        """The number of the vector with the elements."""
        return 2 * self.count - 2

    @staticmethod
    def of(name: str) -> Channel | None:
        """The channel that a function loads; None for other functions."""
        match = _NAME.fullmatch(name)
        return Channel(int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True)
class Pick:
    """Vector `result` has elements `mask` of the concatenation of vectors `a` and `b`. The loaded vectors are the first ones."""

    result: int
    a: int
    b: int
    mask: tuple[int, ...]


def picks(channel: Channel, lanes: int) -> list[Pick]:
    """The shuffles for the vector of a channel, the last of which gives it."""
    count, channel_number, n = channel.count, channel.number, lanes
    every = tuple(2 * k + channel_number % 2 for k in range(n))
    if count == 2:
        return [Pick(2, 0, 1, every)]
    if count == 4:
        return [
            Pick(4, 0, 1, every),
            Pick(5, 2, 3, every),
            Pick(6, 4, 5, tuple(2 * k + channel_number // 2 for k in range(n))),
        ]
    positions = [3 * k + channel_number for k in range(n)]
    first = tuple(p if p < 2 * n else 0 for p in positions)
    rest = tuple(k if p < 2 * n else p - n for k, p in enumerate(positions))
    return [Pick(3, 0, 1, first), Pick(4, 3, 2, rest)]
