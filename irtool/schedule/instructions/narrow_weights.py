"""Constant weights that are small enough for sums of two products in 16 bits: those of quantizers that reduce their range to 7 bits,
and others by chance.

    255 * (w0 + w1) <= 32767      for the positive weights of two neighbours, and likewise for the negative ones
"""

from __future__ import annotations

from typing import Any

MOST = 0x7FFF // 0xFF
"""The largest sum of two weights of one sign: 128."""


def fit_in_pairs(weights: Any, axis: int) -> bool:
    """True if sums of products of two neighbours along an axis, the first at an even position, and unsigned bytes always fit into
    16 bits.

    `weights`: an array of int8.
    """
    import numpy as np

    data = np.moveaxis(weights, axis, -1).astype("int16")
    data = np.pad(data, [(0, 0)] * (data.ndim - 1) + [(0, data.shape[-1] % 2)])
    pairs = data.reshape(*data.shape[:-1], -1, 2)
    most, least = (f(pairs, 0).sum(-1) for f in (np.maximum, np.minimum))
    return not pairs.size or (int(most.max()) <= MOST and int(least.min()) >= -MOST)
