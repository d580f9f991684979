"""Fixed-point arithmetic on known integers, from which tables are made."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from .quantities import multiplier_and_shift


def doubled_high_product(a: Any, b: Any) -> Any:
    """`SaturatingRoundingDoublingHighMul`: `a * b / 2**31`, a half up; of 32 bits each."""
    return (np.asarray(a, np.int64) * np.asarray(b, np.int64) + (1 << 30)) >> 31


def rounded_shift(x: Any, bits: Any) -> Any:
    """`RoundingDivideByPOT`: `x / 2**bits`, a half away from zero."""
    x, bits = np.asarray(x, np.int64), np.asarray(bits, np.int64)
    half = (np.int64(1) << bits) >> 1
    return (x + half - ((x < 0) & (bits > 0))) >> bits


def fixed_product(x: Any, factor: float) -> Any:
    """`MultiplyByQuantizedMultiplier` with the integer and the shift of a factor."""
    multiplier, shift = multiplier_and_shift(factor)
    return rounded_shift(doubled_high_product(np.asarray(x, np.int64) << max(shift, 0), multiplier), max(-shift, 0))
