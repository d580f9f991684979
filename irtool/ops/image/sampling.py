"""The tensor expressions of `image.grid_sample`: coordinates, weights and offsets are computed once for each point, for all channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ... import te


@dataclass(frozen=True)
class GridSampling:
    """Pixels of `data`, (n, c, …), at points of the same spatial axes.

    Attributes:
        points: pixel coordinates, a tensor (n, …) for each spatial axis, of floats.
        bring_in: a coordinate of an axis with so many pixels, moved into the image as the padding has it.
        taps: the four weights of the cubic kernel at a distance from the pixel before.
    """

    data: Any
    points: Sequence[Any]
    out_type: Any
    bring_in: Callable[[Any, int], Any]
    taps: Callable[[Any], Sequence[Any]]

    @property
    def spatial(self) -> Sequence[int]:
        """Extents of the image."""
        extents: Sequence[int] = self.data.shape[2:]
        return extents

    def constant(self, value: float) -> Any:
        """A number of the coordinates' dtype."""
        return te.const(value, self.points[0].dtype)

    def nearest(self) -> Any:
        """The nearest pixels."""
        offsets = self._offsets(lambda *index: [te.round(p) for p in self._inside(*index)])
        return self._result(lambda n, c, *i: self._read(offsets, n, c, i))

    def linear(self) -> Any:
        """Means of the pixels at the corners around each point."""
        corners = [
            (self._offsets(partial(self._corner, corner=sides)), self._of_points(partial(self._weight, corner=sides)))
            for sides in itertools.product((0, 1), repeat=len(self.spatial))
        ]

        def element(n: Any, c: Any, *i: Any) -> Any:
            total = self.constant(0)
            for offsets, weights in corners:
                total = total + te.cast(self._read(offsets, n, c, i), weights.dtype) * weights[(n, *i)]
            return te.cast(total, self.out_type.dtype)

        return self._result(element)

    def cubic(self) -> Any:
        """Means of four rows of four pixels, rows first."""
        rows = [[self._offsets(partial(self._tap, by=(r - 1, c - 1))) for c in range(4)] for r in range(4)]
        down, across = (
            [self._of_points(partial(self._cubic_weight, axis=axis, tap=tap)) for tap in range(4)] for axis in range(2)
        )

        def element(n: Any, c: Any, *i: Any) -> Any:
            total = self.constant(0)
            for row, weight in zip(rows, down, strict=True):
                line = self.constant(0)
                for offsets, weights in zip(row, across, strict=True):
                    line = line + te.cast(self._read(offsets, n, c, i), weights.dtype) * weights[(n, *i)]
                total = total + line * weight[(n, *i)]
            return te.cast(total, self.out_type.dtype)

        return self._result(element)

    # -- of a point ----------------------------------------------------------------------------------------------------

    def _inside(self, *index: Any) -> list[Any]:
        return [self.bring_in(p[index], d) for p, d in zip(self.points, self.spatial, strict=True)]

    def _corner(self, *index: Any, corner: Sequence[int]) -> list[Any]:
        return [te.floor(p) + self.constant(side) for p, side in zip(self._inside(*index), corner, strict=True)]

    def _weight(self, *index: Any, corner: Sequence[int]) -> Any:
        total = self.constant(1)
        for p, side in zip(self._inside(*index), corner, strict=True):
            part = p - te.floor(p)
            total = total * (part if side else self.constant(1) - part)
        return total

    def _tap(self, *index: Any, by: Sequence[int]) -> list[Any]:
        moved = [te.floor(p[index]) + self.constant(n) for p, n in zip(self.points, by, strict=True)]
        return [self.bring_in(p, d) for p, d in zip(moved, self.spatial, strict=True)]

    def _cubic_weight(self, *index: Any, axis: int, tap: int) -> Any:
        p = self.points[axis][index]
        return self.taps(p - te.floor(p))[tap]

    # -- tensors -------------------------------------------------------------------------------------------------------

    def _result(self, element: Callable[..., Any]) -> Any:
        return te.compute(self.out_type.shape, element, name="grid_sample", tag="injective")

    def _of_points(self, element: Callable[..., Any]) -> Any:
        """A tensor over images and points."""
        return te.compute(self.points[0].shape, element, name="of_points", tag="injective")

    def _offsets(self, positions: Callable[..., Sequence[Any]]) -> Any:
        """Offsets of the pixels that each point reads, within their image; -1 for a pixel outside of it."""

        def element(*index: Any) -> Any:
            numbers = [te.cast(a, "int32") for a in positions(*index)]
            inside = te.all(*[te.all(a >= 0, a < d) for a, d in zip(numbers, self.spatial, strict=True)])
            offset = numbers[0]
            for a, d in zip(numbers[1:], self.spatial[1:], strict=True):
                offset = offset * d + a
            return te.select(inside, offset, te.const(-1, "int32"))

        return self._of_points(element)

    def _read(self, offsets: Any, n: Any, c: Any, i: Sequence[Any]) -> Any:
        """The pixel of a channel at an offset, zero outside."""
        offset = offsets[(n, *i)]
        last = te.const(math.prod(self.spatial) - 1, "int32")  # no offset is larger: verifiers see it
        rest, index = te.min2(te.max2(offset, te.const(0, "int32")), last), []
        for d in reversed(self.spatial[1:]):
            index.append(te.floormod(rest, d))
            rest = te.floordiv(rest, d)
        pixel = self.data[(n, c, rest, *reversed(index))]
        return te.select(offset >= 0, pixel, te.const(0, self.data.dtype))
