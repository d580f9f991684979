"""Signs and greatest values of formulas, by all values of the symbols or by limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..deferred import np
from .formulas import Formula, Quotient, at_typical, is_known, is_open, key_of
from .intervals import interval
from .periods import EXACT, signs_by_remainder
from .sums_of_lengths import of_one_length
from .symbols import Symbol

MOST_POINTS: Final = 1 << 16
"""Combinations of values that are tried one by one to decide a comparison; with more of them, intervals decide."""

_MOST_KEPT: Final = 1 << 10
"""The values of a formula that are kept."""


def signs(value: int) -> frozenset[int]:
    """The signs, -1, 0 and 1, that the value can have; more of them if intervals decide, which ignore relations between terms."""
    if isinstance(value, Formula):
        return signs_of_difference(value, 0)
    return frozenset(((value > 0) - (value < 0),))


def signs_of_difference(a: Formula, b: int) -> frozenset[int]:
    """The signs of `a - b`. They are kept with the formula."""
    key = key_of(b)
    outcomes = a.caches.signs.get(key)
    if outcomes is None:
        outcomes = a.caches.signs[key] = signs(a - b) if isinstance(b, Formula) else _signs_below(a, b)
    return outcomes


def _signs_below(a: Formula, b: int) -> frozenset[int]:
    """The signs of a formula less a number. The values and limits of formulas that differ by a number are computed once."""
    constant = a.terms.get((), 0)
    moving = a - constant
    assert isinstance(moving, Formula)
    zero = b - constant
    low, high = (x - zero for x in interval(moving))
    if low <= 0 <= high and count_points(a.symbols()) > MOST_POINTS and (one := of_one_length(moving)) is not None:
        return signs_of_difference(one, zero)
    if low > 0 or high < 0 or max(-low, high) >= EXACT or count_points(a.symbols()) > MOST_POINTS:
        possible = {s for s, is_possible in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if is_possible}
        whole = moving - zero
        exact = signs_by_remainder(whole) if len(possible) > 1 and isinstance(whole, Formula) and a.is_open else None
        return frozenset(possible if exact is None else possible & exact)
    least, most = _extremes(moving)
    if zero < least or zero > most:
        return frozenset((1 if zero < least else -1,))
    values = _values(moving)
    place = int(np.searchsorted(values, zero))
    is_zero = place < len(values) and int(values[place]) == zero
    outcomes = (-1, int(values[0]) < zero), (0, is_zero), (1, int(values[-1]) > zero)
    return frozenset(s for s, is_possible in outcomes if is_possible)


def _values(value: Formula) -> Any:
    """All values of the formula, ascending."""
    values = value.caches.values
    if values is None:
        symbols = sorted(value.symbols(), key=lambda s: s.name)
        values = np.unique(value.at(grid(symbols)))
        if len(values) <= _MOST_KEPT:
            value.caches.values = values
    return values


def _extremes(value: Formula) -> tuple[int, int]:
    """The least and the greatest value, which are kept: sizes of memory ask for them again and again."""
    if value.caches.extremes is None:
        values = value.at(grid(sorted(value.symbols(), key=lambda s: s.name)))
        value.caches.extremes = int(values.min()), int(values.max())
    return value.caches.extremes


def bound(value: int) -> int:
    """The greatest value of an extent, which sizes memory."""
    if not isinstance(value, Formula):
        return value
    constant = value.terms.get((), 0)
    moving = value - constant
    assert isinstance(moving, Formula)
    if count_points(value.symbols()) > MOST_POINTS:
        if (one := of_one_length(moving)) is not None:
            return bound(one) + constant
        return math.floor(interval(moving)[1]) + constant
    return _extremes(moving)[1] + constant


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
