"""The axes of a convolution's data along which windows lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from ...tir.expr import Expr, Var


@dataclass(frozen=True)
class Elements:
    """Elements of the data along an axis: those of a result begin `shift` after its own place; those from `first` to `last` exist, the
    others are zeros."""

    shift: int
    first: int
    last: int


@dataclass(frozen=True)
class SpatialAxis(Elements):
    """A spatial axis: result `of` (so many) sums as many elements as there are `taps`, from `of + shift` on."""

    of: Var
    extent: int
    taps: int


@dataclass(frozen=True)
class DepthAxis(Elements):
    """The axis of slices: each is an image, and those of several taps are summed.

    Result `of` (so many; None where there is one) sums the slices `of * stride + tap * dilation + shift` for every tap (so many).
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


def over(axis: AnyAxis, e: Elements) -> AnyAxis:
    """The axis, over other elements."""
    return replace(axis, shift=e.shift, first=e.first, last=e.last)
