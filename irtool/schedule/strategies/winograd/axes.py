"""The axes of a convolution's data along which windows lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from ....tir.expr import Expr, Var

Number = TypeVar("Number", Expr, int)


@dataclass(frozen=True)
class Elements:
    """Elements of the data along an axis: those of the first result begin at `shift`; those from `first` to `last` exist, the others are
    zeros."""

    shift: int
    first: int
    last: int


@dataclass(frozen=True)
class SpatialAxis(Elements):
    """A spatial axis: result `of` (so many) sums as many elements as there are `taps`, `of * stride + shift + tap * dilation`.

    A window of many taps is `parts` windows of `taps` side by side, whose sums are added; behind its last tap the last part has zeros
    for weights. Results of a tile, and its elements, lie `dilation` apart, so that tiles of several phases stand where one without dilation would.
    One of stride and dilation is 1.
    """

    of: Var
    extent: int
    taps: int
    dilation: int = 1
    stride: int = 1
    parts: int = 1

    @property
    def part(self) -> int:
        """Elements from the first of a part of a window to the first of the next part."""
        return self.taps * self.dilation

    @property
    def is_single(self) -> bool:
        """True if there is no such axis: for the rows of data that have columns only."""
        return self.taps == 1

    def tiles(self, size: int) -> int:
        """How many tiles of so many results there are."""
        blocks = -(-self.extent // (size * self.dilation))
        return blocks * self.dilation if blocks > 1 else min(self.dilation, self.extent)

    def place(self, tile: Number, size: int) -> Number:
        """The first result of the tile of a number."""
        d = self.dilation
        if d == 1 or self.extent <= size * d:
            return tile * size if d == 1 else tile
        return tile // d * (size * d) + tile % d

    def last_place(self, size: int) -> int:
        """The largest of all first results."""
        return self.place(self.tiles(size) - 1, size)

    def border(self, size: int, inputs: int) -> float:
        """The share of windows, of so many `inputs` for tiles of so many results, that have elements that do not exist."""
        last = (inputs - 1) * self.dilation
        firsts = [self.place(tile, size) * self.stride + self.shift for tile in range(self.tiles(size))]
        moved = [n * self.part for n in range(self.parts)]
        return (
            sum(x + m < self.first or x + m + last > self.last for x in firsts for m in moved)
            / len(firsts)
            / self.parts
        )


def no_rows() -> SpatialAxis:
    """The axis of rows of data that have columns only: a single one."""
    return SpatialAxis(0, 0, 0, Var("row"), 1, 1)


@dataclass(frozen=True)
class DepthAxis(Elements):
    """The axis of slices: each is an image, and those of several taps are summed.

    Result `of` (so many; None if there is one) sums the slices `of * stride + tap * dilation + shift` for every tap (so many).
    `slice` stands for the number of a slice in what is read. Of the taps that the weights have, so many before the first one are
    `skipped`, as they lie in the padding for all results.
    """

    of: Var | None
    extent: int
    slice: Var
    taps: int
    stride: int
    dilation: int
    skipped: int = 0

    def at(self, tap: Expr, result: Expr | None) -> Expr:
        """The number of the slice that a tap of a result reads."""
        moved = tap * self.dilation + self.shift
        return moved if result is None else result * self.stride + moved

    def exists(self, tap: int, result: int) -> bool:
        """True if the slice that a tap of a result reads exists."""
        return self.first <= result * self.stride + tap * self.dilation + self.shift <= self.last

    def trimmed(self) -> DepthAxis:
        """Without the first and last taps whose slices exist for no result; with one at least."""
        used = [k for k in range(self.taps) if any(self.exists(k, n) for n in range(self.extent))] or [0]
        shift = self.shift + used[0] * self.dilation
        return replace(self, taps=used[-1] + 1 - used[0], shift=shift, skipped=self.skipped + used[0])


AnyAxis = TypeVar("AnyAxis", SpatialAxis, DepthAxis)
