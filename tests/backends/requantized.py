"""Bytes made of 32-bit sums, as Relay text."""

from __future__ import annotations

_LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}


def rounded(e: str, dtype: str) -> str:
    low, high = _LIMITS[dtype]
    return f'cast(clip(right_shift({e}, 10), a_min={low}f, a_max={high}f), dtype="{dtype}")'
