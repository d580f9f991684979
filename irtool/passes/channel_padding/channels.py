"""Padded channels: their number, and the positions of a tensor's own channels among them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...deferred import np
from ...ir import Expr, Tuple
from ...ops.base import call

_MOST_GROWTH = 1.5
"""By how much channels may grow."""

_HALVES = 1.25
"""What channels in blocks of half a vector cost, beside as many in blocks of whole ones."""


def whole_channels(count: int, lanes: int) -> int:
    """So many channels or more, whole vectors or halves of them, whichever takes least; as many where that would be too many more."""
    half = max(4, lanes // 2)
    if count % half == 0:
        return count
    full, halves = (-(-count // n) * n for n in (lanes, half))
    padded = full if full <= halves * (_HALVES if halves % lanes else 1) else halves
    return padded if padded <= _MOST_GROWTH * count else count


@dataclass(frozen=True)
class PaddedChannels:
    """The channels of a tensor among others, which nobody reads: `places` are those of its own, of `count` in all."""

    places: tuple[int, ...]
    count: int

    @staticmethod
    def behind(own: int, count: int) -> PaddedChannels:
        """The own channels first."""
        return PaddedChannels(tuple(range(own)), count)

    def spread(self, data: Any, axis: int) -> Any:
        """An array with its channels, which lie along an axis, in their places, and zeros in the others."""
        shape = (*data.shape[:axis], self.count, *data.shape[axis + 1 :])
        result = np.zeros(shape, data.dtype)
        result[(slice(None),) * axis + (list(self.places),)] = data
        return result

    def own_of(self, e: Expr, axis: int = 1) -> Expr:
        """The own channels of such a tensor."""
        runs = [[p for _, p in run] for _, run in groupby(enumerate(self.places), lambda x: x[1] - x[0])]
        parts = [
            call("strided_slice", e, begin=(r[0],), end=(r[-1] + 1,), strides=(1,), axes=(axis,), slice_mode="end")
            for r in runs
        ]
        return parts[0] if len(parts) == 1 else call("concatenate", Tuple(tuple(parts)), axis=axis)
