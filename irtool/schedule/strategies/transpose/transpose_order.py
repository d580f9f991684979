"""The order and the width of the squares of a transpose.

    for strip: for j: for i in strip: square (i, j)         along what is written: rows of the result are written line after line
    for strip: for i: for j in strip: square (i, j)         along what is read: rows of the operand are read line after line

A cache has a place for a line by some bits of its address: lines a multiple of 1 KiB apart share a few places, each with room for
few lines. A square writes as many lines as it has columns, one of each row of the result. Where these crowd, the next square must write
other places: the next lines of the same rows. Otherwise reading goes on: processors fetch ahead what follows. A strip ends before what
was read for it, and is read again for the next columns, leaves the cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....tir.memory import CACHE_LINE
from ....tir.vector_target import VectorTarget
from ...cost.machine import CACHE_WAY, CROWDED_LINES, NARROWEST_VECTOR, STRIP_BYTES


@dataclass(frozen=True)
class Moved:
    """What a transpose moves: elements of `size` bytes, `total` bytes in all. Rows of the result are `down` bytes apart, rows of the
    operand `rows`; 0 if that is not a number."""

    size: int
    total: int
    down: int
    rows: int


@dataclass(frozen=True)
class Order:
    """The order of squares.

    Attributes:
        is_along_written: whether the next square is along the rows that are written, not along those that are read.
        strip: elements of those rows in a strip.
        columns: of a square, at most.
        group: squares beside each other, across strips, that are made at once: together they fill lines.
    """

    is_along_written: bool
    strip: int
    columns: int
    group: int


def choose_order(moved: Moved, side: int, target: VectorTarget) -> Order:
    """The order of squares with so many rows.

    Squares are narrow, and in need of as few lines of the result, where those crowd and a strip of the operand stays. Those of narrow
    elements are narrow where rows are not whole lines: of longer vectors, more lie in two lines.
    """
    is_crowded = lines_at_one_place(moved.down, max(side, NARROWEST_VECTOR), target) > CROWDED_LINES
    is_far = moved.total > 4 * target.l2_cache_bytes
    is_along_written = moved.rows <= STRIP_BYTES or (is_crowded and not is_far)
    strip = max(side, (4 * STRIP_BYTES if is_far else STRIP_BYTES) // moved.size)
    stays = lines_at_one_place(moved.rows, strip, target) <= CROWDED_LINES
    is_narrow = moved.rows % CACHE_LINE != 0 if moved.size < 4 else is_along_written and is_crowded and stays
    columns = widths(side, moved.size)[-1 if is_narrow else 0]
    group = 1 if is_along_written and columns < side else max(1, CACHE_LINE // (side * moved.size))
    return Order(is_along_written, strip, columns, group)


def widths(side: int, size: int) -> list[int]:
    """How many columns squares of so many rows may have, most first: as many, half of them (of wide elements), those of a piece."""
    if side * size <= NARROWEST_VECTOR:
        return [side]
    halves = [side // 2] if size >= 4 and side * size > 2 * NARROWEST_VECTOR else []
    return [side, *halves, NARROWEST_VECTOR // size]


def lines_at_one_place(stride: int, count: int, target: VectorTarget) -> float:
    """Of so many lines, so many bytes apart, how many the L1 cache has at the same place."""
    if not stride:
        return 1
    way = CACHE_WAY
    return count / min(way // math.gcd(stride, way), way // CACHE_LINE)
