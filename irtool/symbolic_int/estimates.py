"""Numbers that stand for extents in estimates and reports."""

from __future__ import annotations

from collections.abc import Sequence

from .formulas import symbols_of, value_at


def samples(extents: Sequence[int], count: int = 16) -> list[tuple[int, ...]]:
    """The values of these extents for some lengths, evenly spread from the least of each symbol to its greatest. For costs."""
    symbols = symbols_of(extents)
    points = [{s: s.part(n, count - 1) for s in symbols} for n in range(count)]
    return list(dict.fromkeys(tuple(int(value_at(d, p)) for d in extents) for p in points))


def as_integer(limit: float) -> int:
    """A finite limit as an integer, with its formula."""
    return limit if isinstance(limit, int) else int(limit)
