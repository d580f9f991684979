"""Elements that lie unevenly, as a few reads and a shuffle.

    y[i] = x[i / 2]              0 0 1 1 2 2 3 3            one read of 4 elements, each twice
    y[i] = x[i % 2][i / 2]       0 n 1 n+1 2 n+2 3 n+3      two reads of 4 elements, interleaved
    y[i] = x[i / 3 * 6 + i % 3]  0 1 2 6 7 8 12 13          two reads of 8 elements, which overlap

Nothing is read before the first element or behind the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..symbolic_int import is_known

PREFIX = "places_"
"""What names of functions that load such elements begin with."""
_MOST_READS = 3


@dataclass(frozen=True)
class Shuffle:
    """Reads of `width` elements, where they start, and for each lane which of their elements end to end it gets.

    Two reads may be narrower than the vector; three are as wide.
    """

    width: int
    starts: tuple[int, ...]
    mask: tuple[int, ...]

    def halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of three reads: the lanes of the first two, then of those and the third."""
        lanes = len(self.mask)
        first = tuple(m if m < 2 * lanes else 0 for m in self.mask)
        return first, tuple(n if m < 2 * lanes else m - lanes for n, m in enumerate(self.mask))


def find_shuffle(positions: Sequence[int]) -> Shuffle | None:
    """Loads of the elements at these places, of which the least is 0, with as few reads as possible, then as narrow ones; None
    if three do not suffice, or the run decides how far elements are apart."""
    if not all(map(is_known, positions)):
        return None
    lanes = len(positions)
    best: Shuffle | None = None
    width = 1
    while width <= min(lanes, max(positions) + 1):
        starts = _cover(positions, width)
        most = _MOST_READS if width == lanes else 2
        if len(starts) <= most and (best is None or len(starts) < len(best.starts)):
            mask = tuple(_position(p, starts, width) for p in positions)
            best = Shuffle(width, tuple(starts), mask)
        width *= 2
    return best


def _cover(positions: Sequence[int], width: int) -> list[int]:
    """The starts of reads that cover all places."""
    starts: list[int] = []
    for p in sorted(set(positions)):
        if not starts or p >= starts[-1] + width:
            starts.append(min(p, max(positions) + 1 - width))
    return starts


def _position(place: int, starts: Sequence[int], width: int) -> int:
    n = next(n for n, s in enumerate(starts) if s <= place < s + width)
    return n * width + place - starts[n]


def name_of(positions: Sequence[int]) -> str:
    """The name of the function that loads them, from which `places_of` makes them again."""
    return PREFIX + "_".join(map(str, positions))


def places_of(name: str) -> tuple[int, ...]:
    """The places that such a function loads."""
    return tuple(map(int, name.removeprefix(PREFIX).split("_")))
