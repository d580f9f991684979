"""Divisors of extents: the sizes of blocks that leave no tail."""

from __future__ import annotations

from math import isqrt

LONGEST = 1 << 40
"""An axis that is longer lies in no machine's memory, and is not worth the time of dividing it."""


def proper_divisors(n: int) -> list[int]:
    """The divisors of a positive number but itself, in ascending order; none of a number beyond 2^40.

    By trial division: as many steps as the square root is large.
    """
    if n > LONGEST:
        return []
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    large = [n // d for d in reversed(small) if d * d != n]
    return [d for d in (*small, *large) if d < n]
