"""Limits of the values of a formula, without the values."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

from .formulas import Atom, Formula, Minimum, Quotient, is_open, terms_of
from .monomials import common_atoms, without
from .symbols import Symbol

Variable = tuple[str, int]
"""A variable that counts from 0: its name and its greatest value."""

Relaxed = dict[tuple[Variable, ...], int | Fraction]
"""A sum of products of variables, with their factors: integers where no quotient is, for speed."""


def interval(value: int) -> tuple[Fraction, Fraction]:
    """A lower and an upper limit of the value.

    Each quotient x // d becomes (x - r) / d with a remainder r from 0 to d - 1, which keeps the relation between a length and its quotient;
    each variable is counted from its lower limit, so that sums of products without negative terms have their least value there. A quotient
    is no less than 0 all the same.
    """
    if not isinstance(value, Formula):
        return Fraction(value), Fraction(value)
    if value.caches.limits is None:
        value.caches.limits = _limits(value)
    limits: tuple[Fraction, Fraction] = value.caches.limits
    return limits


def _limits(value: Formula) -> tuple[Fraction, Fraction]:
    low: int | Fraction = 0
    high: int | Fraction = 0
    for m, k in _relaxed(value).items():
        most = k * math.prod(width for _, width in m)
        low, high = low + (min(most, 0) if m else k), high + (max(most, 0) if m else k)
    if not _has(value, Minimum) and not (is_open(value) and _has(value, Quotient)):
        return Fraction(low), Fraction(high)
    others = [_by_atoms(value), *_by_common_factor(value)]
    return max(Fraction(low), *(x for x, _ in others)), min(Fraction(high), *(x for _, x in others))


def _has(value: Formula, kind: type) -> bool:
    return any(isinstance(a, kind) for m in value.terms for a in m)


def _by_atoms(value: Formula) -> tuple[Fraction, Fraction]:
    """The limits as if quotients, which are not negative, did not depend on lengths."""
    low = high = Fraction(0)
    for m, k in value.terms.items():
        ends = [_ends(a) for a in m]
        least, most = (k * math.prod(e[n] for e in ends) for n in (0, 1))
        low, high = low + min(least, most), high + max(least, most)
    return low, high


def _by_common_factor(value: Formula) -> list[tuple[Fraction, Fraction]]:
    """The limits of `a * x - a * y` as those of `a`, which is not negative, times those of `x - y`; none if the terms share no atom."""
    factor = common_atoms(value.terms) if len(value.terms) > 1 else []
    if not factor:
        return []
    low, high = interval(type(value)({without(m, tuple(factor)): k for m, k in value.terms.items()}))
    least, most = (math.prod(_ends(a)[n] for a in factor) for n in (0, 1))
    return [(min(low * least, low * most), max(high * least, high * most))]


def _ends(atom: Atom) -> tuple[Fraction, Fraction]:
    """Limits of an atom, which is not negative."""
    if isinstance(atom, Symbol):
        return Fraction(atom.low // atom.step), Fraction(atom.high // atom.step)
    if isinstance(atom, Minimum):
        ends = interval(atom.first), interval(atom.second)
        return min(e[0] for e in ends), min(e[1] for e in ends)
    dividend, divisor = interval(atom.dividend), interval(atom.divisor)
    least = math.floor(max(dividend[0], Fraction(0)) / divisor[1])
    return Fraction(least), Fraction(math.floor(dividend[1] / max(divisor[0], Fraction(1))))


def _relaxed(value: int) -> Relaxed:
    total: Relaxed = {}
    for m, k in terms_of(value).items():
        product: Relaxed = {(): k}
        for atom in m:
            factor = _relaxed_atom(atom)
            terms: Relaxed = {}
            for (a, x), (b, y) in itertools.product(product.items(), factor.items()):
                key = tuple(sorted((*a, *b)))
                terms[key] = terms.get(key, 0) + x * y
            product = terms
        for key, x in product.items():
            total[key] = total.get(key, 0) + x
    return {key: x for key, x in total.items() if x}


def _relaxed_atom(atom: Atom) -> Relaxed:
    if isinstance(atom, Quotient):
        return _relaxed_quotient(atom)
    if isinstance(atom, Minimum):
        return _relaxed_minimum(atom)
    return {((atom.name, (atom.high - atom.low) // atom.step),): 1, (): atom.low // atom.step}


@functools.lru_cache(maxsize=1 << 14)
def _relaxed_quotient(atom: Quotient) -> Relaxed:
    """The quotient as a sum of variables that count from 0; see `interval`."""
    if isinstance(atom.divisor, Formula):
        most = interval(atom.dividend)[1] // max(interval(atom.divisor)[0], Fraction(1))
        return {((atom.text, int(most)),): 1}
    terms: Relaxed = {m: Fraction(k, atom.divisor) for m, k in _relaxed(atom.dividend).items()}
    terms[((f"{atom.text} remainder", atom.divisor - 1),)] = Fraction(-1, atom.divisor)
    return terms


@functools.lru_cache(maxsize=1 << 14)
def _relaxed_minimum(atom: Minimum) -> Relaxed:
    """The first extent less a variable that counts from 0, which keeps that it is no greater; see `interval`."""
    terms = dict(_relaxed(atom.first))
    excess = max(0, math.floor(interval(atom.first - atom.second)[1]))
    terms[((f"{atom.text} excess", excess),)] = -1
    return terms
