"""Numbers that stand for extents in estimates and reports."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .formulas import Formula, symbols_of, value_at
from .symbols import Symbol


def samples(extents: Sequence[int], count: int = 16) -> list[tuple[int, ...]]:
    """The values of these extents for some lengths, evenly spread from the least of each symbol to its greatest. For costs."""
    symbols = symbols_of(extents)
    if not symbols:
        return [tuple(int(d) for d in extents)]
    points = _points(tuple(symbols), count)
    values = [_values(d, points) if isinstance(d, Formula) else [int(d)] * count for d in extents]
    return list(dict.fromkeys(zip(*values, strict=True)))


Points = tuple[dict[Symbol, int], ...]


@functools.lru_cache(maxsize=1 << 8)
def _points(symbols: tuple[Symbol, ...], count: int) -> Points:
    return tuple({s: s.part(n, count - 1) for s in symbols} for n in range(count))


def _values(extent: Formula, points: Points) -> list[int]:
    """The values at these points, which are the same object for the same symbols."""
    key = id(points)
    entry = extent.caches.samples.get(key)
    if entry is None:
        entry = extent.caches.samples[key] = points, [int(value_at(extent, p)) for p in points]
    return entry[1]


def as_integer(limit: float) -> int:
    """A finite limit as an integer, with its formula."""
    return limit if isinstance(limit, int) else int(limit)
