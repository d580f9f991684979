"""An axis in vectors."""

from __future__ import annotations


def vector_segments(extent: int, lanes: int) -> list[tuple[int, int, int]]:
    """The steps of a loop as `(first, vectors, lanes)`: narrower vectors for what is left over, then one by one."""
    found: list[tuple[int, int, int]] = []
    first = 0
    while extent - first >= min(lanes, 4) and lanes > 1:
        count = (extent - first) // lanes
        if count:
            found.append((first, count, lanes))
        first += count * lanes
        lanes //= 2
    return [*found, (first, extent - first, 1)] if first < extent else found
