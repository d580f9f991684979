"""Histograms of a tensor for calibration: how often values occur, in memory that does not grow with the data."""

from __future__ import annotations

import math

from ..deferred import np

BINS = 4096
"""Bins on each side of zero."""


class Histogram:
    """Counts of values in bins of one width, a power of two, aligned to zero.

    Where a value lies outside, bins are merged in pairs until it does not. So the result does not depend on the order of the
    data: the width follows from the largest magnitude, of which half of the bins at least are used.

    Attributes:
        counts: of `2 * BINS` bins; that of index `BINS + n` is from `n * width` to `(n + 1) * width`.
        low, high: the least and greatest value, exactly.
        total: how many values there are.
    """

    def __init__(self) -> None:
        self.counts = np.zeros(2 * BINS, np.int64)
        self.exponent: int | None = None
        self.low = math.inf
        self.high = -math.inf
        self.total = 0

    @property
    def width(self) -> float:
        return math.ldexp(1.0, self.exponent or 0)

    @property
    def centers(self) -> np.ndarray:
        """The middle of each bin, float64."""
        return (np.arange(-BINS, BINS) + 0.5) * self.width

    def add(self, values: np.ndarray) -> None:
        """Counts finite values."""
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.total += values.size
        self._widen(max(abs(low), abs(high)))
        scale = math.ldexp(1.0, -(self.exponent or 0))
        exact = values if 2.0**-60 < scale < 2.0**60 else values.astype(np.float64)
        positions = np.floor(exact * exact.dtype.type(scale)).astype(np.int32).ravel()
        self.counts += np.bincount(positions + BINS, minlength=2 * BINS)

    def _widen(self, largest: float) -> None:
        """Merges bins until `largest` is inside."""
        needed = math.frexp(largest)[1] - (BINS.bit_length() - 1) if largest else None
        if needed is None:
            return
        if self.exponent is None:
            self.exponent = needed
            # Zeros counted before are in the bin behind zero, of any width.
            return
        for _ in range(min(needed - self.exponent, 2 * BINS.bit_length())):
            merged = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.concatenate([np.zeros(BINS // 2, np.int64), merged, np.zeros(BINS // 2, np.int64)])
        self.exponent = max(self.exponent, needed)
