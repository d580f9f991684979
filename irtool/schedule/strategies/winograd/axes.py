"""The window axes of a convolution's data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from ....tir.expr import Expr, Var

Number = TypeVar("Number", Expr, int)


@dataclass(frozen=True)
class Elements:
    """Elements of the data along an axis: those of the first result begin at `shift`; those from `first` to `last` exist, and the
    others are zeros."""

    shift: int
    first: int
    last: int


@dataclass(frozen=True)
class SpatialAxis(Elements):
    """A spatial axis: result `of` (`extent` of them) sums the elements `of * stride + shift + tap * dilation` for all `taps`.

    A window of many taps is `parts` contiguous windows of `taps`, whose sums are added; the weights of the last part are padded
    with zeros. Results of a tile, and its elements, are `dilation` apart, so that the tiles of several phases take the place of
    one tile without dilation. Either stride or dilation is 1.
    """

    of: Var
    extent: int
    taps: int
    dilation: int = 1
    stride: int = 1
    parts: int = 1

    @property
    def part(self) -> int:
        """The distance of the parts of a window, in elements."""
        return self.taps * self.dilation

    @property
    def is_single(self) -> bool:
        """True if the axis is no window axis: the rows of data that have columns only."""
        return self.taps == 1

    def tiles(self, size: int) -> int:
        """The number of tiles of `size` results. Raises Undecided for phases of an extent that only the run knows."""
        if self.dilation == 1:
            return -(-self.extent // size)
        blocks = -(-self.extent // (size * self.dilation))
        return blocks * self.dilation if blocks > 1 else min(self.dilation, self.extent)

    def place(self, tile: Number, size: int) -> Number:
        """The first result of the tile with that number."""
        d = self.dilation
        if d == 1:
            return tile * size
        if self.extent <= size * d:
            return tile
        return tile // d * (size * d) + tile % d

    def last_place(self, size: int) -> int:
        """The largest of all first results."""
        return self.place(self.tiles(size) - 1, size)

    def at_bounds(self) -> SpatialAxis:
        """The axis for the greatest lengths of a run, in an estimate."""
        first, last, extent = int(self.first), int(self.last), int(self.extent)
        return replace(self, first=first, last=last, extent=extent, shift=int(self.shift))

    def border(self, size: int, inputs: int) -> float:
        """The share of windows with padding, among the windows of `inputs` elements for tiles of `size` results."""
        last = (inputs - 1) * self.dilation
        firsts = [self.place(tile, size) * self.stride + self.shift for tile in range(self.tiles(size))]
        moved = [n * self.part for n in range(self.parts)]
        return (
            sum(x + m < self.first or x + m + last > self.last for x in firsts for m in moved)
            / len(firsts)
            / self.parts
        )


def no_rows() -> SpatialAxis:
    """The axis of rows of data that have columns only: a single row."""
    return SpatialAxis(0, 0, 0, Var("row"), 1, 1)


@dataclass(frozen=True)
class DepthAxis(Elements):
    """The axis of slices: each is an image, and those of several taps are summed.

    Result `of` (`extent` of them; None for a single one) sums the slices `of * stride + tap * dilation + shift` for all `taps`.
    `slice`: the variable for the number of a slice in reads. `skipped`: the weights' first taps that are left out, as they read
    padding for all results.
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
        """The axis without the first and last taps whose slices exist for no result; it keeps one at least."""
        used = [k for k in range(self.taps) if any(self.exists(k, n) for n in range(self.extent))] or [0]
        shift = self.shift + used[0] * self.dilation
        return replace(self, taps=used[-1] + 1 - used[0], shift=shift, skipped=self.skipped + used[0])


AnyAxis = TypeVar("AnyAxis", SpatialAxis, DepthAxis)
