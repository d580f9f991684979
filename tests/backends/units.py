"""Errors in units of the last place."""

from __future__ import annotations

import numpy as np


def units(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance in units in the last place of the nearest float32; 0 where both are NaN or the same infinity."""
    with np.errstate(all="ignore"):
        nearest = exact.astype("float32")
        distance = np.abs(got.astype("float64") - exact) / np.spacing(np.abs(nearest)).astype("float64")
    same = (np.isnan(got) & np.isnan(nearest)) | (got == nearest)
    # What overflows may be the largest number or infinity.
    edge = np.isinf(nearest) & (np.abs(got) == np.finfo("float32").max) & (np.sign(got) == np.sign(nearest))
    distance = np.where(same | edge, 0.0, distance)
    return np.where(np.isnan(distance), np.inf, distance)
