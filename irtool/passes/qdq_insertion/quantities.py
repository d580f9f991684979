"""Scales and zero points of activations."""

from __future__ import annotations

from dataclasses import dataclass

from ...deferred import np
from ...ops.qnn.fixed_point import limits

LEAST_SCALE = float(2.0**-100)
"""Products of scales stay normal numbers."""


@dataclass(frozen=True)
class Quantity:
    """The quantization of a tensor: an element stands for `scale * (q - zero_point)`."""

    scale: float
    zero_point: int
    dtype: str

    @property
    def reach(self) -> tuple[int, int]:
        """The least and greatest `q - zero_point`."""
        low, high = limits(self.dtype)
        return low - self.zero_point, high - self.zero_point


def quantity_of(low: float, high: float, dtype: str, symmetric: bool = False) -> Quantity:
    """The scale and zero point for real numbers from `low` to `high`, of which 0 is made one.

    0 is held exactly: padding and relu depend on it. A range of nothing but 0 has scale 1 and zero point 0.
    """
    least, greatest = limits(dtype)
    low, high = min(low, 0.0), max(high, 0.0)
    if symmetric:
        scale = float(np.float32(max(max(-low, high) / min(-least or greatest, greatest), 0.0)))
        return Quantity(max(scale, LEAST_SCALE) if scale else 1.0, 0, dtype)
    if low == high:
        return Quantity(1.0, 0, dtype)
    scale = float(np.float32(max((high - low) / (greatest - least), LEAST_SCALE)))
    zero = int(np.clip(np.rint(least - low / scale), least, greatest))
    return Quantity(scale, zero, dtype)
