"""Places in memory for intervals of time whose sizes are formulas of lengths that nothing bounds.

Sizes at usual lengths decide the order, as for numbers. Each interval then begins where those below it end, of those that are alive
at the same time, so that no two overlap for any lengths.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic_int import at_typical, is_known, upper
from .placing import Interval, place


def place_formulas(items: Sequence[Interval]) -> tuple[int, int]:
    """As `place`; the bytes used are a formula if a size is, and the lower bound is that for usual lengths."""
    if all(is_known(i.size) for i in items):
        return place(items)
    sized = [i for i in items if i.size]
    numbers = {i: Interval(max(1, at_typical(i.size)), i.first, i.last) for i in sized}
    _, lower = place(list(numbers.values()))
    order = sorted(numbers, key=lambda i: (numbers[i].offset, i.first))
    total = 0
    for n, item in enumerate(order):
        item.offset = 0
        for other in order[:n]:
            if other.first <= item.last and item.first <= other.last:
                item.offset = upper(item.offset, other.offset + other.size)
        total = upper(total, item.offset + item.size)
    return total, lower
