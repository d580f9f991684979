"""An axis in vectors."""

from __future__ import annotations

from ...symbolic_int import SymbolicInt


def vector_segments(extent: int, lanes: int) -> list[tuple[int, int, int]]:
    """The steps of a loop as `(first, vectors, lanes)`: full vectors, then narrower ones, then single elements.

    With an extent that the run knows, each width has a segment, which may have no vectors.
    """
    segments: list[tuple[int, int, int]] = []
    first = 0
    if isinstance(extent, SymbolicInt):
        while lanes >= 4:
            count = (extent - first) // lanes
            segments.append((first, count, lanes))
            first += count * lanes
            lanes //= 2
        return [(first, count, lanes) for first, count, lanes in (*segments, (first, extent - first, 1)) if count != 0]
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
    segments = [(0, extent // chunk, lanes, period)] if whole != 0 else []
    rest = vector_segments(extent - whole, lanes)
    if isinstance(extent, SymbolicInt):
        return [*segments, *((whole + first, count, width, 1) for first, count, width in rest)]
    for first, count, width in rest:
        segments += [(whole + first + n * width, 1, width, 1) for n in range(count)]
    return segments
