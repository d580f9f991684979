"""An axis in squares, grouped into groups and strips.

50 steps, squares of 8    ⇒    6 squares from step 0, and one from step 42, which overlaps the last of them
7 squares, groups of 2    ⇒    3 groups, and a single square
6 squares, strips of 4    ⇒    2 strips of 3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....symbolic_int import bound, is_known
from ...core.strip_mine import vector_segments


@dataclass(frozen=True)
class Squares:
    """A part of an axis: `count` squares of `size` steps, from step `first` on, in strips of `strip` squares and groups of
    `group`."""

    first: int
    count: int
    size: int
    strip: int
    group: int = 1

    @property
    def loops(self) -> list[int]:
        """The number of strips, of groups in a strip, and of squares in a group."""
        return [self.count // self.strip, self.strip // self.group, self.group]


def squares_of(extent: int, sizes: Sequence[int], overlap: bool) -> list[Squares]:
    """Squares of the first of the sizes that fits the axis.

    With `overlap`, the remainder is one more square of the smallest sufficient size, which overlaps the one before; otherwise
    narrower vectors.
    """
    size = next(x for x in sizes if x <= bound(extent))
    if not overlap or not is_known(extent):
        return [Squares(first, count, width, count) for first, count, width in vector_segments(extent, size)]
    whole, rest = divmod(extent, size)
    squares = [Squares(0, whole, size, whole)]
    if rest:
        last = min(x for x in sizes if rest <= x <= extent)
        squares.append(Squares(extent - last, 1, last, 1))
    return squares


def in_groups(parts: Sequence[Squares], group: int) -> list[Squares]:
    """The parts in groups of `group` squares, and a tail."""
    groups = []
    for p in parts:
        whole = p.count // group * group
        if whole != 0:
            groups.append(replace(p, count=whole, strip=whole, group=group))
        if whole != p.count:
            left = p.count - whole
            groups.append(Squares(p.first + whole * p.size, left, p.size, left))
    return groups


def in_strips(parts: Sequence[Squares], steps: int) -> list[Squares]:
    """The parts in strips of at most `steps` steps, all of one length if a length of at least half divides the squares; and a
    remainder."""
    strips = []
    for p in parts:
        most = max(1, steps // p.size)
        if bound(p.count) <= most:
            strips.append(p)
            continue
        strip = next((x for x in range(most, most // 2, -1) if p.count % x == 0), most)
        whole = p.count // strip * strip
        strips.append(replace(p, count=whole, strip=strip))
        if whole != p.count:
            left = p.count - whole
            strips.append(replace(p, first=p.first + whole * p.size, count=left, strip=left))
    return strips
