"""Signs and greatest values of formulas, by all values of the symbols or by limits."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..deferred import np
from .formulas import Formula, Monomial, Quotient, at_typical, is_known, is_open
from .intervals import interval
from .periods import EXACT, signs_by_remainder
from .symbols import Symbol

MOST_POINTS: Final = 1 << 16
"""Combinations of values that are tried one by one to decide a comparison; with more of them, intervals decide."""


def signs(value: int) -> set[int]:
    """The signs, -1, 0 and 1, that the value can have; more of them if intervals decide, which ignore relations between terms."""
    if not isinstance(value, Formula):
        return {(value > 0) - (value < 0)}
    return _signs(frozenset(value.terms.items()))


@functools.lru_cache(maxsize=1 << 14)
def _signs(terms: frozenset[tuple[Monomial, int]]) -> set[int]:
    value = Formula(dict(terms))
    low, high = interval(value)
    symbols = sorted(value.symbols(), key=lambda s: s.name)
    if low > 0 or high < 0 or max(-low, high) >= EXACT or count_points(symbols) > MOST_POINTS:
        possible = {s for s, is_possible in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if is_possible}
        exact = signs_by_remainder(value) if len(possible) > 1 and is_open(value) else None
        return possible if exact is None else possible & exact
    return {int(x) for x in np.unique(np.sign(value.at(grid(symbols))))}


def bound(value: int) -> int:
    """The greatest value of an extent, which sizes memory."""
    if not isinstance(value, Formula):
        return value
    symbols = sorted(value.symbols(), key=lambda s: s.name)
    if count_points(symbols) > MOST_POINTS:
        return math.floor(interval(value)[1])
    return int(np.max(value.at(grid(symbols))))


def planned(value: int) -> int:
    """The bytes or elements that memory is planned for: the greatest value, or the formula itself if nothing bounds its lengths."""
    return value if is_open(value) else bound(value)


def nominal(value: int) -> int:
    """The number that stands for a size in estimates and reports: the greatest value, or that at usual lengths if nothing bounds it."""
    return at_typical(planned(value))


def greatest_at_bounds(value: int) -> bool:
    """True if the value of a formula without subtractions is the greatest one at the upper bounds of the symbols."""
    if not isinstance(value, Formula):
        return True
    parts = [a for m in value.terms for a in m if not isinstance(a, Symbol)]
    within = [x for a in parts for x in ((a.dividend, a.divisor) if isinstance(a, Quotient) else (a.first, a.second))]
    divisors = [a.divisor for a in parts if isinstance(a, Quotient)]
    return (
        all(k >= 0 for k in value.terms.values())
        and all(map(is_known, divisors))
        and all(map(greatest_at_bounds, within))
    )


def count_points(symbols: Iterable[Symbol]) -> int:
    """The number of combinations of the symbols' values."""
    return math.prod(len(s.choices) or (s.high - s.low) // s.step + 1 for s in symbols)


def grid(symbols: Sequence[Symbol]) -> dict[Symbol, Any]:
    """All values of the symbols, as arrays that broadcast to all combinations."""
    axes = [s.lengths(s.low) for s in symbols]
    return dict(zip(symbols, np.meshgrid(*axes, indexing="ij", sparse=True), strict=True))
