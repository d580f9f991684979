"""Distances in units in the last place."""

from __future__ import annotations

from typing import Any


def ulp_distance(x: Any, y: Any) -> Any | None:
    """The number of steps from each element of one float array to that of the other, as float64; infinite where one is NaN
    and the other is not. None for arrays of another dtype than float16, float32 and float64.

    Bits of IEEE 754 numbers, read as sign and magnitude, are in the order of the numbers.
    """
    import numpy as np

    if x.dtype != y.dtype or x.dtype.kind != "f" or x.dtype.itemsize > 8:
        return None
    ordered = []
    for array in (x, y):
        bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)
        bits = bits.astype(np.int64 if array.dtype.itemsize < 8 else object)  # differences of 64 bits need 65
        least = -(1 << (8 * array.dtype.itemsize - 1))
        ordered.append(np.where(bits < 0, least - bits, bits))
    gap = np.abs(ordered[0] - ordered[1]).astype(np.float64)
    one, other = np.isnan(x), np.isnan(y)
    return np.where(one & other, 0.0, np.where(one | other, np.inf, gap))
