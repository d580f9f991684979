"""The arithmetic of formulas."""

from __future__ import annotations

import math
from typing import Any, Final

from .formulas import Atom, Formula, Monomial, Quotient, Terms, key_of, minimum_of, quotient_of, terms_of
from .intervals import interval
from .modes import Undecided
from .monomials import contains, without
from .numbers import Number
from .signs import signs
from .symbols import Symbol

_MOST_FACTORS: Final = 8
"""The greatest exponent of a power that is a formula."""


class SymbolicInt(Number):
    """An extent with a formula; see the package."""

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        key = key_of(other)
        result = self.caches.sums.get(key)
        if result is None:
            result = self.caches.sums[key] = _sum(self.terms, terms_of(other), 1)
        return result

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        if not isinstance(other, Formula):
            return self + -other
        result = self.caches.differences.get(other.caches)
        if result is None:
            result = self.caches.differences[other.caches] = _sum(self.terms, other.terms, -1)
        return result

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, int) else NotImplemented

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> SymbolicInt:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        key = key_of(other)
        result = self.caches.products.get(key)
        if result is None:
            result = self.caches.products[key] = _product(self.terms, terms_of(other))
        return result

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return quotient(self, other) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return quotient(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other if isinstance(other, int) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self if isinstance(other, int) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if type(other) is int else self.at_greatest("<<", other)

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if type(other) is int else self.at_greatest(">>", other)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if type(other) is int and 0 <= other <= _MOST_FACTORS and modulus is None:
            return math.prod([self] * other)
        return self.at_greatest("**", other)

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other >= 0 and other & (other + 1) == 0:
            return self % (other + 1)
        return self.at_greatest("&", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self.at_greatest("|", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self.at_greatest("^", other)

    __rxor__ = __xor__

    def __rlshift__(self, other: Any) -> Any:
        return self.at_greatest("<<", other, True)

    def __rrshift__(self, other: Any) -> Any:
        return self.at_greatest(">>", other, True)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return self.at_greatest("**", other, True)

    def minimum(self, other: int) -> int:
        """The smaller one of the formula and another extent, as a formula if this depends on the symbols."""
        return minimum(self, other)


def symbolic(name: str, low: int, high: int, step: int = 1) -> SymbolicInt:
    """The extent of that name: the multiples of `step` from `low` to `high`."""
    return extent_of(Symbol(name, low, high, step))


def extent_of(symbol: Symbol) -> SymbolicInt:
    """The extent that is the symbol alone."""
    return SymbolicInt({(symbol,): symbol.step})


def minimum(a: int, b: int) -> int:
    """The smaller of two extents, as a formula if this depends on the symbols."""
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return min(a, b)
    outcomes = signs(a - b)
    if outcomes <= {-1, 0}:
        return a
    if outcomes <= {0, 1}:
        return b
    # The smaller one of a - 3 and 0 is that of a and 3, less 3. The order does not depend on constants, so that there is one form.
    first, second = sorted((a, b), key=lambda x: (not isinstance(x, SymbolicInt), str(x - _constant(x))))
    constant = _constant(first)
    return SymbolicInt({(minimum_of(first - constant, second - constant),): 1}) + constant


def _constant(a: int) -> int:
    return terms_of(a).get((), 0)


def simplest(terms: dict[Monomial, int]) -> int:
    """The sum of these terms, as an `int` if it is constant."""
    terms = {m: k for m, k in terms.items() if k}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return SymbolicInt(terms)


def _sum(a: Terms, b: Terms, sign: int) -> int:
    total = dict(a)
    for m, k in b.items():
        total[m] = total.get(m, 0) + sign * k
    return simplest(total)


def _product(a: Terms, b: Terms) -> int:
    product: dict[Monomial, int] = {}
    for m, k in a.items():
        for n, j in b.items():
            key = tuple(sorted((*m, *n), key=_text)) if m and n else m or n
            product[key] = product.get(key, 0) + k * j
    return simplest(product)


def _text(atom: Atom) -> str:
    return atom.text


def quotient(a: int, b: int) -> int:
    """The quotient, rounded down. Raises Undecided if the dividend or the divisor can be negative, and the other one a formula."""
    if isinstance(b, SymbolicInt):
        return _quotient_by_formula(a, b)
    if not isinstance(a, SymbolicInt):
        return a // b
    result = a.caches.quotients.get(b)
    if result is None:
        result = a.caches.quotients[b] = _quotient_by_number(a, b)
    return result


def _quotient_by_number(a: SymbolicInt, b: int) -> int:
    if b == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if b == 1:
        return a
    if b < 0:
        return quotient(-a, -b)
    whole = {m: k // b for m, k in terms_of(a).items() if k % b == 0}
    others = {m: k for m, k in terms_of(a).items() if k % b}
    if () in others:
        whole[()] = whole.get((), 0) + others[()] // b
        others[()] %= b
    rest = simplest(others)
    if not isinstance(rest, SymbolicInt):
        return simplest(whole) + rest // b
    if not signs(rest) <= {0, 1}:
        if signs(b - 1 - rest) <= {0, 1}:
            return simplest(whole) - quotient(b - 1 - rest, b)
        more = math.ceil(-interval(rest)[0] / b)
        return SymbolicInt({(quotient_of(rest + more * b, b),): 1}) + simplest(whole) - more
    least = math.floor(interval(rest)[0] / b)
    if signs(rest - (least + 1) * b) == {-1}:  # the same quotient for all lengths
        return simplest(whole) + least
    common = math.gcd(b, *rest.terms.values())
    if common > 1:
        rest, b = SymbolicInt({m: k // common for m, k in rest.terms.items()}), b // common
    ((m, k), *further) = rest.terms.items()
    if not further and k == 1 and len(m) == 1 and isinstance(inner := m[0], Quotient) and type(inner.divisor) is int:
        return quotient(inner.dividend, inner.divisor * b) + simplest(whole)
    return SymbolicInt({(quotient_of(rest, b),): 1}) + simplest(whole)


def _quotient_by_formula(a: int, b: SymbolicInt) -> int:
    """The quotient by a product of symbols that divides each term, or by a sum that the dividend is a multiple of; otherwise an atom."""
    if not isinstance(a, SymbolicInt):
        if a == 0 or (a > 0 and signs(b - a) == {1}):
            return 0
    elif len(b.terms) == 1:
        ((divisor, k),) = b.terms.items()
        exact = {without(m, divisor): j // k for m, j in a.terms.items() if contains(m, divisor) and j % k == 0}
        if len(exact) == len(a.terms):
            return simplest(exact)
    else:
        m, k = next(iter(b.terms.items()))
        for n, j in a.terms.items():
            if contains(n, m) and j % k == 0:
                factor = simplest({without(n, m): j // k})
                if a - factor * b == 0:
                    return factor
    if signs(a) == {-1} and signs(b) == {1}:
        return -quotient(b - 1 - a, b)
    if not signs(a) <= {0, 1} or signs(b) != {1}:
        raise Undecided(f"the quotient of {a} and {b}")
    if signs(a - b) == {-1}:
        return 0
    return SymbolicInt({(quotient_of(a, b),): 1})
