"""Sorting and selecting by the bytes of numbers, without a branch on the numbers.

The branches of a merge sort or a heap are as likely as not, and a processor that guesses one wrong waits for some fifteen cycles.
Here elements become integers, `ranks`, in the order in which they are sorted; elements are counted by a byte of their ranks, and counts
say where they belong. So the time depends on how many elements there are, and hardly on what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import te
from ..tir import dtypes

_BINS = 256
_HALF = _BINS // 2

Place = Callable[[Any], Any]


@dataclass(frozen=True)
class Ranks:
    """Integers that grow in the order in which elements of `dtype` are sorted, of as many bytes; those of 16-bit floats have four.

    A NaN is the largest element, and zeros of both signs are equal, as in `sorting.precedes`.
    """

    dtype: str
    ascending: bool

    @property
    def rank_dtype(self) -> str:
        """The dtype that ranks are held in."""
        return "int64" if self._bits > 32 else "int32"

    @property
    def _bits(self) -> int:
        return max(32, dtypes.bits(self.dtype)) if dtypes.is_float(self.dtype) else dtypes.bits(self.dtype)

    @property
    def digits(self) -> int:
        """Bytes of a rank."""
        return self._bits // 8

    def of(self, x: Any) -> Any:
        """The rank of an element."""
        rank = self._of_float(x) if dtypes.is_float(self.dtype) else self._of_integer(x)
        return rank if self.ascending else te.bitwise_not(rank)

    def _of_integer(self, x: Any) -> Any:
        if self.dtype in ("uint32", "uint64"):
            return te.bitwise_xor(te.reinterpret(self.rank_dtype, x), te.min_value(self.rank_dtype))
        rank = te.cast(x, self.rank_dtype)
        return rank - (1 << (self._bits - 1)) if dtypes.is_unsigned(self.dtype) else rank

    def _of_float(self, x: Any) -> Any:
        wide = te.cast(x, f"float{self._bits}")
        bits = te.reinterpret(self.rank_dtype, wide)
        largest = te.max_value(self.rank_dtype)
        # Of negative numbers all bits but the sign are turned over: -2 < -1.
        rank = te.bitwise_xor(
            bits, te.bitwise_and(te.shift_right(bits, te.const(self._bits - 1, self.rank_dtype)), largest)
        )
        rank = te.select(te.equal(wide, te.const(0, wide.dtype)), te.const(0, self.rank_dtype), rank)
        return te.select(te.not_equal(wide, wide), largest, rank)

    def digit(self, rank: Any, number: int) -> Any:
        """Byte `number` of a rank, from 0 for the lowest one, as 0 … 255 in the order of ranks."""
        high = te.shift_right(rank, te.const(8 * number, self.rank_dtype)) if number else rank
        if number == self.digits - 1:
            return te.cast(high + _HALF, "int32")
        return te.cast(te.bitwise_and(high, te.const(_BINS - 1, self.rank_dtype)), "int32")


def ranks_of(x: Any, ascending: bool) -> Any:
    """The tensor of the ranks of all elements."""
    ranks = Ranks(x.dtype, ascending)
    return te.compute(x.shape, lambda *i: ranks.of(x[i]), name="ranks")


class Radix:
    """Writes loops that select and sort positions of a line of ranks, by counts of their bytes."""

    def __init__(self, ib: Any, ranks: Ranks) -> None:
        self.ib = ib
        self.ranks = ranks
        self.counts = ib.allocate((_BINS,), "int32", name="counts")

    def _clear(self) -> None:
        with self.ib.for_(_BINS) as i:
            self.ib.store(self.counts, (i,), 0)

    def _count(self, digit: Any, by: Any) -> None:
        bucket = self.ib.let(digit)
        self.ib.store(self.counts, (bucket,), self.counts[bucket] + by)

    def select(self, rank: Place, count: Any, k: int) -> tuple[Any, Any]:
        """The last of the `k` first ranks of `count` (at least as many) in order, and how many of these are equal to it."""
        ib, ranks = self.ib, self.ranks
        left = ib.local("int32", k)
        prefix = ib.local(ranks.rank_dtype, te.const(0, ranks.rank_dtype))
        for number in reversed(range(ranks.digits)):
            self._clear()
            is_first = number == ranks.digits - 1
            with ib.for_(count) as i:
                r = ib.let(rank(i))
                if is_first:
                    self._count(ranks.digit(r, number), 1)
                else:
                    above = te.shift_right(r, te.const(8 * (number + 1), ranks.rank_dtype))
                    self._count(ranks.digit(r, number), te.cast(te.equal(above, prefix()), "int32"))
            digit = ib.local("int32", te.const(0, "int32"))
            with ib.while_(self.counts[digit()] < left()):
                left.set(left() - self.counts[digit()])
                digit.set(digit() + 1)
            chosen = te.cast(digit(), ranks.rank_dtype)
            prefix.set(chosen - _HALF if is_first else prefix() * _BINS + chosen)
        return ib.let(prefix()), ib.let(left())

    def sort(self, source: Any, target: Any, rank: Place, count: int) -> Any:
        """Sorts positions by the ranks at them, stably; gives the one of both vectors that has them in the end."""
        ib, ranks = self.ib, self.ranks
        for number in range(ranks.digits):
            self._clear()
            with ib.for_(count) as i:
                self._count(ranks.digit(rank(source[i]), number), 1)
            before = ib.local("int32", te.const(0, "int32"))
            with ib.for_(_BINS) as i:
                several = ib.let(self.counts[i])
                ib.store(self.counts, (i,), before())
                before.set(before() + several)
            with ib.for_(count) as i:
                position = ib.let(source[i])
                digit = ib.let(ranks.digit(rank(position), number))
                place = ib.let(self.counts[digit])
                ib.store(target, (place,), position)
                ib.store(self.counts, (digit,), place + 1)
            source, target = target, source
        return source


def keep(ib: Any, count: Any, position: Place, is_kept: Callable[[Any], Any], to: Any, done: Any) -> None:
    """Writes a loop that puts the positions that are kept one behind the other, from `done` on, which counts them. `to` has room for
    one more."""
    with ib.for_(count) as i:
        candidate = ib.let(position(i))
        ib.store(to, (done(),), candidate)
        done.set(done() + te.cast(is_kept(candidate), "int32"))


def keep_first(ib: Any, count: Any, position: Place, rank: Place, last: tuple[Any, Any], to: Any) -> None:
    """Writes a loop that keeps the positions with a rank before the last one, and so many of those with this, as `select` found."""
    limit, equal = last
    done, left = ib.local("int32", te.const(0, "int32")), ib.local("int32", equal)
    with ib.for_(count) as i:
        candidate = ib.let(position(i))
        ib.store(to, (done(),), candidate)
        candidate_rank = ib.let(rank(candidate))
        is_last = ib.let(te.cast(te.equal(candidate_rank, limit), "int32"))
        is_selected = ib.let(te.cast(candidate_rank < limit, "int32") + te.cast(left() > 0, "int32") * is_last)
        left.set(left() - is_last)
        done.set(done() + is_selected)
