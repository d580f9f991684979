"""Signs of formulas of a length without a bound, by the remainders of the length."""

from __future__ import annotations

import math
from typing import Any, Final

from ..deferred import np
from .formulas import Formula, Monomial, Quotient, terms_of
from .monomials import common_atoms, without
from .symbols import Symbol

_LONGEST_PERIOD: Final = 1 << 15

EXACT: Final = 1 << 62
"""Magnitudes below which values are computed in int64."""


def signs_by_remainder(value: Formula) -> set[int] | None:
    """The signs of a formula whose quotients are all of one product n of lengths, by constants; None for others.

    Such a formula is linear along n, n + p, n + 2 p, … for the period p, the product of the divisors inside each other: for each remainder,
    the first value and the slope tell the signs.
    """
    m = _without_common_factors(value)
    base = _base(m)
    period = _period(m) if base is not None else None
    if base is None or period is None or period > _LONGEST_PERIOD:
        return None
    far = EXACT // (4 * _sum_of_coefficients(m))
    low, high = (math.prod((s.low, s.high)[n] // s.step for s in base if isinstance(s, Symbol)) for n in (0, 1))
    if low + 3 * period > far:
        return None
    n = np.arange(low, low + period, dtype=np.int64)
    first, second, third = (_at_base(m, base, n + k * period) for k in range(3))
    slope = second - first
    if (third - second != slope).any():
        return None
    n = n[: max(1, min(high - low + 1, period))]
    first, slope = np.broadcast_to(first, (period,))[: len(n)], np.broadcast_to(slope, (period,))[: len(n)]
    last = first + slope * ((min(high, far) - n) // period)
    last = np.where(slope != 0, slope, last) if high > far else last
    begins, ends = np.sign(first), np.sign(last)
    outcomes = {int(x) for x in (*np.unique(begins), *np.unique(ends))}
    return outcomes | ({0} if (begins * ends < 0).any() else set())


def _sum_of_coefficients(value: int) -> int:
    """At least as much as a formula can be, divided by its base."""
    total = 1
    for m, k in terms_of(value).items():
        inside = [_sum_of_coefficients(a.dividend) for a in m if isinstance(a, Quotient)]
        total += abs(k) * math.prod(inside)
    return total


def _without_common_factors(value: Formula) -> Formula:
    """The formula without the lengths that are factors of all its terms: they are positive."""
    factors = tuple(a for a in common_atoms(value.terms) if isinstance(a, Symbol) and a.low > 0)
    if not factors:
        return value
    rest = {without(m, factors): k for m, k in value.terms.items()}
    return type(value)(rest) if rest.keys() != {()} else value


def _base(value: int) -> Monomial | None:
    """The only product of lengths in a formula, and in its quotients; None if there are several, or atoms of other kinds."""
    bases: set[Monomial] = set()
    stack: list[int] = [value]
    while stack:
        for m in terms_of(stack.pop()):
            if all(isinstance(a, Symbol) for a in m):
                bases |= {m} if m else set()
            elif len(m) == 1 and isinstance(q := m[0], Quotient) and not isinstance(q.divisor, Formula):
                stack.append(q.dividend)
            else:
                return None
    return bases.pop() if len(bases) == 1 else None


def _period(value: int) -> int:
    """The period of a formula with a base: the divisors of quotients inside each other are factors of it."""
    return math.lcm(*(_period(a.dividend) * a.divisor for m in terms_of(value) for a in m if isinstance(a, Quotient)))


def _at_base(value: int, base: Monomial, n: Any) -> Any:
    """The values of a formula for values of its base."""
    total: Any = 0
    for m, k in terms_of(value).items():
        if m == base:
            total = total + k * n
        elif not m:
            total = total + k
        else:
            (q,) = m
            assert isinstance(q, Quotient)
            total = total + k * (_at_base(q.dividend, base, n) // q.divisor)
    return total
