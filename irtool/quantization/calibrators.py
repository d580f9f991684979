"""Ranges from histograms: which numbers a tensor's 8 bits stand for."""

from __future__ import annotations

from ..deferred import np
from ..ops.qnn.fixed_point import limits
from ..passes.qdq_insertion.quantities import quantity_of
from .histogram import BINS, Histogram

_STEP = 16
"""Bins between two thresholds that are tried."""

_FRACTIONS = 100
"""How many ranges are tried for the least square error."""

_EMPTY = 1e-12
"""What stands for a probability of zero in a divergence."""


def calibrate(h: Histogram, method: str, percentile: float, dtype: str) -> tuple[float, float]:
    """The range of a tensor: within its least and greatest value, and with 0."""
    low, high = min(h.low, 0.0), max(h.high, 0.0)
    if not h.total or low == high:
        return 0.0, 0.0
    if method == "percentile":
        value_range = percentile_range(h, percentile)
    elif method == "entropy":
        value_range = entropy_range(h)
    elif method == "mse":
        value_range = error_range(h, dtype)
    else:
        value_range = low, high
    return min(max(value_range[0], low), 0.0), max(min(value_range[1], high), 0.0)


def percentile_range(h: Histogram, percentile: float) -> tuple[float, float]:
    """The bins between which `percentile` per cent of the values are; of the rest at most a half is on either side."""
    outside = int(h.total * (100 - percentile) / 200 + 1e-9)
    below = np.cumsum(h.counts)
    first = int(np.argmax(below > outside))
    last = int(len(below) - 1 - np.argmax(np.cumsum(h.counts[::-1]) > outside))
    return (first - BINS) * h.width, (last + 1 - BINS) * h.width


def entropy_range(h: Histogram) -> tuple[float, float]:
    """The threshold T for which magnitudes, those above T set to T, lose least by rounding: `-T` to `T`.

    The loss is the Kullback-Leibler divergence of the rounded from the unrounded distribution, as in S. Migacz, "8-bit
    Inference with TensorRT", 2017. There are 256 levels where no value is negative, else 128 for magnitudes.
    """
    magnitudes = h.counts[BINS:] + h.counts[:BINS][::-1]
    levels = 256 if h.low >= 0 else 128
    used = int(np.flatnonzero(magnitudes)[-1]) + 1
    candidates = [*range(levels, used, _STEP), used]
    losses = [divergence(magnitudes, n, levels) for n in candidates]
    best = candidates[int(np.argmin(losses))]
    return -best * h.width, best * h.width


def divergence(magnitudes: np.ndarray, count: int, levels: int) -> float:
    """The Kullback-Leibler divergence for a threshold after `count` bins, whose values are rounded to `levels` levels."""
    inside = magnitudes[:count].astype(np.float64)
    clipped = inside.copy()
    clipped[-1] += magnitudes[count:].sum()
    group = np.arange(count) * levels // count
    sums = np.bincount(group, inside, levels)
    filled = np.bincount(group, inside > 0, levels)
    spread = np.where(inside > 0, (sums / np.maximum(filled, 1))[group], 0.0)
    p, q = clipped / clipped.sum(), spread / max(spread.sum(), 1.0)
    is_nonzero = p > 0
    return float((p[is_nonzero] * np.log(p[is_nonzero] / np.maximum(q[is_nonzero], _EMPTY))).sum())


def error_range(h: Histogram, dtype: str) -> tuple[float, float]:
    """The range of least mean square error: the whole one times 0.01, 0.02, … or 1; each value is its bin's middle."""
    nonzero = np.flatnonzero(h.counts)
    values, counts = h.centers[nonzero], h.counts[nonzero]
    least, greatest = limits(dtype)
    low, high = min(h.low, 0.0), max(h.high, 0.0)
    best, result = np.inf, (low, high)
    for n in range(_FRACTIONS, 0, -1):
        part = low * n / _FRACTIONS, high * n / _FRACTIONS
        q = quantity_of(*part, dtype)
        rounded = np.clip(np.rint(values / q.scale) + q.zero_point, least, greatest)
        error = float((counts * (values - (rounded - q.zero_point) * q.scale) ** 2).sum())
        if error < best:
            best, result = error, part
    return result
