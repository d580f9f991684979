"""Sums and means by numpy whose rounding errors do not grow with their length, whichever axes they are along.

numpy adds in pairs along the last axis only; along others, one number after the other, it loses a float32's digits where there are
many. Such sums are made in float64, as compiled code makes them in blocks (see `schedule.core.block_sums`).
"""

from __future__ import annotations

import math
from typing import Any

from ..deferred import np
from .dtypes import is_half

LONGEST = 4096
"""Numbers of a sum that is made in the dtype of its elements."""


def long_sum(x: np.ndarray, axes: Any, keepdims: bool = False) -> np.ndarray:
    """The sum over an axis, several, or all of them (None), in float32 for 16-bit floats and in the dtype of `x` otherwise.

    A sum begins with 0, so that of -0 alone is 0; that is said here because releases of numpy differ.
    """
    own = np.dtype("float32") if is_half(x.dtype) else x.dtype
    exact = np.dtype("float64") if own == np.float32 and _count(x, axes) > LONGEST else own
    total = np.sum(x, axis=axes, dtype=exact, keepdims=keepdims, initial=0)
    return np.asarray(total).astype(own, copy=False)


def long_mean(x: np.ndarray, axes: Any, keepdims: bool = False) -> np.ndarray:
    """The mean over axes, of floats, in their dtype."""
    exact = np.dtype("float64") if x.dtype == np.float32 and _count(x, axes) > LONGEST else x.dtype
    return np.asarray(x.mean(axis=axes, dtype=exact, keepdims=keepdims)).astype(x.dtype, copy=False)


def _count(x: np.ndarray, axes: Any) -> int:
    if axes is None:
        return x.size
    return math.prod(x.shape[a] for a in (axes if isinstance(axes, tuple | list) else (axes,)))
