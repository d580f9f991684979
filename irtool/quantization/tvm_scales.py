"""Scales of data as TVM's `relay.quantize` finds them: by Kullback-Leibler divergence and by percentile.

After python/tvm/relay/quantize/_calibrate.py, kl_divergence.py and src/relay/quantize/calibrate.cc of TVM 0.10. Sums are in float32,
one summand after the other, as there.
"""

from __future__ import annotations

from typing import Any

from ..deferred import np

BINS = 8001
"""Bins of a histogram from `-largest` to `largest`."""

LEVELS = 255
"""Levels of a rounded distribution."""

PERCENTILE = 0.99999

_EPSILON = 0.0001


class Largest:
    """The value below which `PERCENTILE` of all magnitudes are, from no more than those above."""

    def __init__(self, total: int) -> None:
        """`total`: how many values there will be."""
        self.capacity = total - int(total * PERCENTILE)
        self.values = np.zeros(0, np.float32)

    def add(self, values: np.ndarray) -> None:
        """Takes values into account."""
        both = np.concatenate([self.values, np.abs(values).ravel()])
        self.values = (
            np.partition(both, len(both) - self.capacity)[-self.capacity :] if len(both) > self.capacity else both
        )

    @property
    def scale(self) -> float:
        return float(self.values.min())


class Divergence:
    """A histogram for a threshold of least divergence."""

    def __init__(self, largest: float) -> None:
        """`largest`: the greatest magnitude of all values, float32."""
        bounds: Any = (np.float32(-largest), np.float32(largest))
        self.bounds = bounds
        self.counts = np.zeros(BINS, np.int64)
        self.edges = np.histogram(np.zeros(0, np.float32), BINS, bounds)[1]

    def add(self, values: np.ndarray) -> None:
        """Counts values."""
        self.counts += np.histogram(values, BINS, self.bounds)[0]

    @property
    def scale(self) -> float:
        middle, half = BINS // 2, LEVELS // 2
        losses = [_loss(self.counts, middle - i, middle + i + 1) for i in range(half, middle + 1)]
        return float(np.float32(self.edges[middle + half + int(np.argmin(losses)) + 1]))


def _loss(counts: np.ndarray, start: int, stop: int) -> float:
    """The divergence of the distribution in `counts[start:stop]` when it is rounded; counts outside are added at its ends."""
    inside = counts[start:stop].copy()
    inside[0] = 0
    p = inside.astype(np.float32)
    p[0] = _total(counts[: start + 1])
    p[-1] = _total(counts[stop - 1 :])
    merged = len(inside) // LEVELS
    group = np.minimum(np.arange(len(inside)) // merged, LEVELS - 1)
    sums = np.bincount(group, inside, LEVELS).astype(np.float32)
    filled = np.bincount(group, inside != 0, LEVELS).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where((filled[group] > 0) & (p != 0), (sums / filled)[group], np.float32(0))
    smooth_p, smooth_q = _smoothed(p), _smoothed(q)
    if smooth_q is None:
        return float("inf")
    return 0.0 if smooth_p is None else _entropy(smooth_p, smooth_q)


def _total(values: np.ndarray) -> np.float32:
    return np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]  # type: ignore[no-any-return]  # numpy's stubs have Any


def _smoothed(p: np.ndarray) -> np.ndarray | None:
    """`p` with a little of its positive entries given to the zeros; None if all are zero, or the positive ones are too small."""
    zero = p == 0
    others = int((~zero).sum())
    if not others:
        return None
    taken = np.float32(_EPSILON) * np.float32(zero.sum()) / np.float32(others)
    if taken >= 1:
        return None
    return (p + np.where(zero, np.float32(_EPSILON), -taken)).astype(np.float32)


def _entropy(p: np.ndarray, q: np.ndarray) -> float:
    p, q = p / _total(p), q / _total(q)
    return float(_total(p * np.log(p / q)))
