"""The larger and the smaller of two elements, as `te.maximum` and `te.minimum` compute them: of a NaN and a number, the second.

numpy's `maximum` and `minimum` give NaN in both cases: that is the rule of reductions and pools (`te.nan_maximum`).
"""

from __future__ import annotations

from ..deferred import np


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a` where it is larger, else `b`."""
    return np.where(a > b, a, b)


def smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a` where it is smaller, else `b`."""
    return np.where(a < b, a, b)
