"""Bit patterns of float32 of every kind."""

from __future__ import annotations

import numpy as np


def every_kind() -> np.ndarray:
    """Normal and subnormal numbers, ties, infinities, NaN: as bits."""
    g = np.random.default_rng(0)
    ends = [0, 1, 0x7FFF, 0x8000, 0x8001, 0x18000, 0x7F7FFF, 0x7F8000, 0x7FFFFF, 0x800000, 0x807FFF, 0x808000]
    ends += [0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]
    tiny = g.integers(0, 1 << 23, 1000)
    magnitudes = np.concatenate([ends, tiny, g.integers(0, 1 << 31, 2048 - len(ends) - len(tiny))]).astype("uint32")
    return np.concatenate([magnitudes, magnitudes | np.uint32(1 << 31)])
