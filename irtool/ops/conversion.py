"""Numbers of one dtype as another, to the bit as in generated code. Every reference converts by these."""

from __future__ import annotations

from typing import Any

from ..deferred import np
from ..tir.dtypes import round_to
from .dtypes import numpy_dtype


def convert(x: Any, dtype: str | np.dtype) -> np.ndarray:
    """`x` in another dtype: floats are cut to whole numbers, integers wrap, everything but 0 is True.

    What numpy leaves to the processor is fixed: a float is cut to int32 (int64 for wide and unsigned results), to its least
    value where it does not fit or is NaN, and then wraps; uint64 holds what fits it.
    """
    x, target = np.asarray(x), numpy_dtype(dtype) if isinstance(dtype, str) else np.dtype(dtype)
    with np.errstate(all="ignore"):
        if target.name == "bfloat16" and x.dtype == np.float64:
            return _rounded_to_odd(x).astype(target)
        if target.kind not in "iu" or x.dtype.kind in "iub":
            return x.astype(target, copy=False)
        wide = np.dtype(np.int64 if target.itemsize > 4 or target.kind == "u" else np.int32)
        x = x if x.dtype.itemsize > 2 else x.astype(np.float32)
        limit = x.dtype.type(2.0 ** (8 * wide.itemsize - 1))
        fits = (x >= -limit) & (x < limit)
        cut = np.where(fits, np.where(fits, x, 0).astype(wide), -(2 ** (8 * wide.itemsize - 1))).astype(target)
        if target == np.uint64:
            large = (x >= limit) & (x < 2 * limit)
            cut = np.where(large, np.where(large, x, 0).astype(target), cut)
        return np.asarray(cut)


def _rounded_to_odd(x: np.ndarray) -> np.ndarray:
    """float64 as float32; a number between two of these as the one whose last bit is 1, which can be rounded again as if it were `x`."""
    near = x.astype(np.float32)
    bits = near.view(np.uint32)
    inexact = np.isfinite(x) & (near.astype(np.float64) != x)
    below = bits - (np.abs(near.astype(np.float64)) > np.abs(x)).astype(np.uint32)
    return np.where(inexact, below | np.uint32(1), bits).astype(np.uint32).view(np.float32).reshape(x.shape)


def number_as(value: float, dtype: str | np.dtype) -> Any:
    """The number of an attribute as a numpy scalar of the dtype, as `te.const` makes it."""
    target = numpy_dtype(dtype) if isinstance(dtype, str) else np.dtype(dtype)
    return target.type(round_to(value, target.name))
