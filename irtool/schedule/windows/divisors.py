"""Divisors of extents: the sizes of blocks that leave no tail."""

from __future__ import annotations

from math import isqrt

LONGEST = 1 << 40
"""A longer axis fits in no machine's memory, and is not worth the time to divide it."""


def proper_divisors(n: int) -> list[int]:
    """The divisors of a positive number, without the number itself, in ascending order; none for a number beyond 2^40.

    By trial division, with as many steps as the square root of the number.
    """
    if n > LONGEST:
        return []
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    large = [n // d for d in reversed(small) if d * d != n]
    return [d for d in (*small, *large) if d < n]
