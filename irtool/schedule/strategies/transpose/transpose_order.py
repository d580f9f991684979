"""The order and the width of the squares of a transpose.

    for strip: for j: for i in strip: square (i, j)         along the result: its rows are written line after line
    for strip: for i: for j in strip: square (i, j)         along the operand: its rows are read line after line

Some bits of a line's address select its set in a cache: lines a multiple of 1 KiB apart share a few sets, each with room for few
lines. A square writes as many lines as it has columns, one of each row of the result. If these crowd in a set, the next square
must write other sets: the next lines of the same rows. Otherwise the next square continues along the operand: processors prefetch
the lines that follow. A strip ends before its lines of the operand, which the next columns read again, leave the cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....tir.memory import CACHE_LINE
from ....tir.vector_target import VectorTarget
from ...cost.machine import CACHE_WAY, CROWDED_LINES, NARROWEST_VECTOR, STRIP_BYTES


@dataclass(frozen=True)
class Moved:
    """The memory of a transpose: elements of `size` bytes, `total` bytes in all.

    `down`: the stride of rows of the result, in bytes; `rows`: that of rows of the operand; 0 for irregular ones.
    """

    size: int
    total: int
    down: int
    rows: int


@dataclass(frozen=True)
class Order:
    """The order of squares.

    Attributes:
        is_along_written: true if the next square is along the rows of the result, not along those of the operand.
        strip: elements of those rows in a strip.
        columns: the most columns of a square.
        group: neighbouring squares, across strips, that are transposed at once: together they fill lines.
    """

    is_along_written: bool
    strip: int
    columns: int
    group: int


def choose_order(moved: Moved, side: int, target: VectorTarget) -> Order:
    """The order of squares with `side` rows.

    Squares are narrow, so that they write few lines of the result, if these crowd in a set and a strip of the operand stays in
    the cache. Squares of narrow elements are narrow if rows are not full lines: more of their longer vectors cross two lines.
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
    """The possible columns of squares of `side` rows, most first: as many as rows, half of them (for wide elements), and those of
    16 bytes."""
    if side * size <= NARROWEST_VECTOR:
        return [side]
    halves = [side // 2] if size >= 4 and side * size > 2 * NARROWEST_VECTOR else []
    return [side, *halves, NARROWEST_VECTOR // size]


def lines_at_one_place(stride: int, count: int, target: VectorTarget) -> float:
    """The lines, among `count` lines `stride` bytes apart, that share a set of the L1 cache."""
    if not stride:
        return 1
    way = CACHE_WAY
    return count / min(way // math.gcd(stride, way), way // CACHE_LINE)
