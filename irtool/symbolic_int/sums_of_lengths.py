"""Formulas of several lengths that depend on their sum alone, as formulas of one length.

The rows of a cache are those before a step and those of the step: `16 * ((past + n) / 16)` has as few values as there are sums of both, and many
times as many combinations of `past` and `n`.
"""

from __future__ import annotations

from .formulas import Formula, Monomial, Quotient, quotient_of
from .symbols import Symbol


def of_one_length(value: Formula) -> Formula | None:
    """The formula with one length in place of the sum of its lengths; None if it depends on them in another way.

    It has the values of the formula: whole lengths without steps and choices add up to all numbers between the least and the greatest sum.
    """
    symbols = sorted(value.symbols(), key=lambda s: s.name)
    if len(symbols) < 2 or any(s.step != 1 or s.choices or not s.is_bounded for s in symbols):
        return None
    low, high = sum(s.low for s in symbols), sum(s.high for s in symbols)
    total = Symbol(" + ".join(s.name for s in symbols), low, high)
    return _of_sum(value, frozenset(symbols), total)


def _of_sum(value: Formula, symbols: frozenset[Symbol], total: Symbol) -> Formula | None:
    terms: dict[Monomial, int] = {}
    coefficients: dict[Symbol, int] = {}
    for m, k in value.terms.items():
        if len(m) == 1 and isinstance(m[0], Symbol):
            coefficients[m[0]] = k
            continue
        factors = []
        for a in m:
            if not isinstance(a, Quotient) or not isinstance(a.dividend, Formula) or isinstance(a.divisor, Formula):
                return None
            dividend = _of_sum(a.dividend, symbols, total)
            if dividend is None:
                return None
            factors.append(quotient_of(dividend, a.divisor))
        key = tuple(factors)
        terms[key] = terms.get(key, 0) + k
    if coefficients:
        if len(set(coefficients.values())) > 1 or coefficients.keys() != symbols:
            return None
        terms[total,] = next(iter(coefficients.values()))
    return type(value)(terms)
