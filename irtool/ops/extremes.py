"""The larger and the smaller of two elements, NaN if either is, as in numpy, ONNX and IEEE 754's `maximum`.

Of two zeros, the first operand: `larger_expression` puts it last, where an extreme of a number and a constant leaves it.
"""

from __future__ import annotations

from typing import Any

from .. import te
from ..deferred import np


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`b` where it is larger or NaN, else `a`."""
    return np.where((b > a) | (b != b), b, a)


def smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`b` where it is smaller or NaN, else `a`."""
    return np.where((b < a) | (b != b), b, a)


def limited(x: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """`x` within `low … high`; `low` where that exceeds `high`."""
    return larger(smaller(x, high), low)


def larger_expression(a: Any, b: Any) -> Any:
    """The tensor expression of `larger`."""
    return te.nan_maximum(b, a)


def smaller_expression(a: Any, b: Any) -> Any:
    """The tensor expression of `smaller`."""
    return te.nan_minimum(b, a)


def limited_expression(x: Any, low: Any, high: Any) -> Any:
    """The tensor expression of `limited`."""
    return larger_expression(smaller_expression(x, high), low)
