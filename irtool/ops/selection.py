"""The first elements of sorted rows, by their ranks: the last of them is found, then all that are no later, and these are sorted.

Where a row is long, the first rank of each of many blocks is found before, in vectors: with `count` of these no later than a bound, what is
later than that bound is none of the first elements. So most of a row is compared once with one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..tir import dtypes
from .radix import Radix, Ranks, keep, keep_first, ranks_of
from .rows import rows

BLOCKS_BESIDE = 64
"""Bytes of elements side by side that belong to as many different blocks: so much has a vector of most processors, or two."""

_LONG = 4096
"""Elements of a row whose blocks have more than 8 elements."""

_LEAST_BLOCK = 4
"""Elements of a block from which on looking at blocks first is worth it."""


def ranks_and_bounds(x: Any, axis: int, ascending: bool, count: int) -> list[Any]:
    """The ranks of elements, and in a long row the first rank of each block: the last of the `count` first of these bounds the result."""
    ranks = Ranks(x.dtype, ascending)
    line = ranks_of(x, ascending)
    extent = x.shape[axis]
    size = _block(extent, count)
    width = BLOCKS_BESIDE // dtypes.itemsize(ranks.rank_dtype)
    blocks = extent // (size * width)
    if size < _LEAST_BLOCK or blocks * width < count:
        return [line]
    k = te.reduce_axis((0, size), name="k")

    def first(*i: Any) -> Any:
        place = i[axis] * (size * width) + k * width + i[axis + 1]
        return te.min(line[(*i[:axis], place, *i[axis + 2 :])], axis=k)

    return [line, te.compute((*x.shape[:axis], blocks, width, *x.shape[axis + 1 :]), first, name="bounds")]


def select_by_ranks(
    ib: Any, ins: Sequence[Any], values: Any, positions: Any, axis: int, ascending: bool, k: int
) -> None:
    """Writes loops that put the first `k` elements of each sorted row in `values`, and their positions in `positions`. Either may be None.

    `ins` are the elements and `ranks_and_bounds` of them. Where there are bounds, only blocks that have an element that may be kept
    are looked at.
    """
    source, line, *bounds = ins
    extent = source.shape[axis]
    ranks = Ranks(source.dtype, ascending)
    chosen = ib.allocate(((extent if bounds else k) + 1,), "int32", name="chosen")
    sorted_ = ib.allocate((k,), "int32", name="sorted")
    radix = Radix(ib, ranks)
    with rows(ib, source.shape, axis) as row:

        def rank(i: Any) -> Any:
            return line[row(i)]

        if bounds:
            among = _within_bounds(ib, radix, rank, bounds[0], row, axis, extent, k, chosen)
            last, equal = radix.select(lambda i: rank(chosen[i]), among, k)
            keep_first(ib, among, lambda i: chosen[i], rank, (last, equal), chosen)
        else:
            last, equal = radix.select(rank, te.const(extent, "int32"), k)
            keep_first(ib, extent, lambda i: i, rank, (last, equal), chosen)
        in_order = radix.sort(chosen, sorted_, rank, k)
        with ib.for_(k) as i:
            position = ib.let(in_order[i])
            if values is not None:
                ib.store(values, row(i), source[row(position)])
            if positions is not None:
                ib.store(positions, row(i), te.cast(position, positions.dtype))


def _within_bounds(
    ib: Any, radix: Radix, rank: Any, bounds: Any, row: Any, axis: int, extent: int, k: int, chosen: Any
) -> Any:
    """Writes loops that collect the positions of elements that may be kept; gives their number."""
    blocks, width = bounds.shape[axis : axis + 2]

    def bound(block: Any, lane: Any) -> Any:
        place = row(block)
        return bounds[(*place[:axis], block, lane, *place[axis + 1 :])]

    last, _ = radix.select(lambda i: bound(te.floordiv(i, width), te.floormod(i, width)), blocks * width, k)
    done = ib.local("int32", te.const(0, "int32"))
    size = _block(extent, k) * width
    with ib.for_(blocks) as block:
        hits = ib.local("int32", te.const(0, "int32"))
        with ib.for_(width) as lane:
            hits.set(hits() + te.cast(bound(block, lane) <= last, "int32"))
        with ib.if_(hits() > 0):
            keep(ib, size, lambda i: block * size + i, lambda i: rank(i) <= last, chosen, done)
    keep(ib, extent - blocks * size, lambda i: i + blocks * size, lambda i: rank(i) <= last, chosen, done)
    return ib.let(done())


def _block(extent: int, k: int) -> int:
    """Elements of a block: as many as `size_of_blocks` gives, or so few that the blocks are twice the kept elements."""
    return min(size_of_blocks(extent), 1 << max(0, (extent // (2 * k)).bit_length() - 1))


def size_of_blocks(extent: int) -> int:
    """Elements of a block of a row so long: the more, the more of them are looked at again, and the fewer blocks there are."""
    return 8 if extent < _LONG else 16 if extent < 4 * _LONG else 32
