"""An axis in vectors."""

from __future__ import annotations


def vector_segments(extent: int, lanes: int) -> list[tuple[int, int, int]]:
    """The steps of a loop as `(first, vectors, lanes)`: full vectors, then narrower ones, then single elements."""
    segments: list[tuple[int, int, int]] = []
    first = 0
    while extent - first >= min(lanes, 4) and lanes > 1:
        count = (extent - first) // lanes
        if count:
            segments.append((first, count, lanes))
        first += count * lanes
        lanes //= 2
    return [*segments, (first, extent - first, 1)] if first < extent else segments


def period_segments(extent: int, lanes: int, period: int) -> list[tuple[int, int, int, int]]:
    """The steps of a loop as `(first, count, lanes, vectors)`: `count` times the vectors of one period, then vectors for the
    rest."""
    if period == 1:
        return [(*segment, 1) for segment in vector_segments(extent, lanes)]
    chunk = lanes * period
    whole = extent // chunk * chunk
    segments = [(0, extent // chunk, lanes, period)] if whole else []
    for first, count, width in vector_segments(extent - whole, lanes):
        segments += [(whole + first + n * width, 1, width, 1) for n in range(count)]
    return segments
