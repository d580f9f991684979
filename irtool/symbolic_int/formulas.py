"""Formulas: sums of products of atoms, which are symbols, quotients and minimums; their texts and values."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeVar
from weakref import WeakValueDictionary

from ..deferred import np
from .symbols import Symbol

_MOST_FORMULAS: Final = 1 << 17
"""The formulas that are kept before all of them are dropped."""


@contextmanager
def shifted(by: int) -> Iterator[None]:
    """Makes the `int` values of new formulas those of lengths that many below the upper bounds, for tests.

    A build in which anything depends on them, other than by the formulas, differs from one without.
    """
    token = _tables.set(_Tables(by))
    try:
        yield
    finally:
        _tables.reset(token)


@dataclass(frozen=True, eq=False)
class Quotient:
    """`dividend // divisor`, rounded down; the dividend is not negative, the divisor positive. `quotient_of` gives the only one."""

    dividend: int
    divisor: int

    @functools.cached_property
    def at_bounds(self) -> int:
        """The quotient at the upper bounds of the symbols."""
        return at_typical(self.dividend) // at_typical(self.divisor)

    @functools.cached_property
    def text(self) -> str:
        """The quotient in C."""
        divisor = str(self.divisor)
        is_product = isinstance(self.divisor, Formula) and len(self.divisor.terms) == 1 and " * " in divisor
        return f"({self.dividend} / {f'({divisor})' if is_product else divisor})"

    @functools.cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols in it."""
        return _symbols_in(self.dividend, self.divisor)

    def __reduce__(self) -> Any:
        return quotient_of, (self.dividend, self.divisor)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smaller one of two extents, which the run decides; the first is a formula. `minimum_of` gives the only one."""

    first: int
    second: int

    @functools.cached_property
    def at_bounds(self) -> int:
        """The smaller extent at the upper bounds of the symbols."""
        return min(at_typical(self.first), at_typical(self.second))

    @functools.cached_property
    def text(self) -> str:
        """The minimum in C."""
        return f"({self.first} < {self.second} ? {self.first} : {self.second})"

    @functools.cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols in it."""
        return _symbols_in(self.first, self.second)

    def __reduce__(self) -> Any:
        return minimum_of, (self.first, self.second)


Atom = Symbol | Quotient | Minimum

Monomial = tuple[Atom, ...]

Terms = Mapping[Monomial, int]
A = TypeVar("A", Quotient, Minimum)


class Caches:
    """Results of operations with a formula, by the other operand; see `key_of`.

    Attributes:
        limits: the interval of the formula.
        extremes: the least and the greatest value.
        values: all values, ascending, if there are few.
        samples: the values at points, by the identity of these, with them.
    """

    __slots__ = ("differences", "extremes", "limits", "products", "quotients", "samples", "signs", "sums", "values")

    def __init__(self) -> None:
        self.sums: dict[int | Caches, int] = {}
        self.differences: dict[Caches, int] = {}
        self.products: dict[int | Caches, int] = {}
        self.quotients: dict[int, int] = {}
        self.signs: dict[int | Caches, frozenset[int]] = {}
        self.samples: dict[int, tuple[Any, list[int]]] = {}
        self.limits: Any = None
        self.extremes: tuple[int, int] | None = None
        self.values: Any = None


@dataclass
class _Tables:
    """The formulas and atoms of a process, each with a single object, so that answers about them can be kept.

    Attributes:
        shift: how many below the upper bounds the `int` values are; see `shifted`.
    """

    shift: int
    formulas: dict[frozenset[tuple[Monomial, int]], Formula] = field(default_factory=dict)
    atoms: WeakValueDictionary[tuple[str, frozenset[Symbol]], Quotient | Minimum] = field(
        default_factory=WeakValueDictionary
    )
    lock: threading.Lock = field(default_factory=threading.Lock)

    def only(self, atom: A) -> A:
        """The atom with this meaning. Bounds belong to it: a process may build networks whose lengths have one name and different bounds."""
        with self.lock:
            return self.atoms.setdefault((atom.text, atom.symbols), atom)  # type: ignore[return-value]  # an atom of this text is of its class


_usual_tables = _Tables(0)
_tables: ContextVar[_Tables] = ContextVar("tables", default=_usual_tables)


def quotient_of(dividend: int, divisor: int) -> Quotient:
    """The only quotient of these."""
    return _tables.get().only(Quotient(dividend, divisor))


def minimum_of(first: int, second: int) -> Minimum:
    """The only minimum of these."""
    return _tables.get().only(Minimum(first, second))


class Formula(int):
    """A sum of products of atoms with integer coefficients; `SymbolicInt`, the only class of them, adds arithmetic and comparisons.

    Attributes:
        terms: the sum.
        at_bounds: the formula at the upper bounds of the symbols, and at usual lengths of those without; `bound` is the greatest value,
            which estimates read.
        caches: results of arithmetic and comparisons; there is one object for a formula.

    The `int` value, which nobody may read, is the same; within `shifted`, it is that of other lengths.
    """

    terms: Terms
    at_bounds: int
    caches: Caches

    def __new__(cls, terms: Terms) -> Self:
        tables = _tables.get()
        key = frozenset(terms.items())
        known = tables.formulas.get(key)
        if known is not None:
            return known  # type: ignore[return-value]  # formulas have one class
        if len(tables.formulas) >= _MOST_FORMULAS:
            tables.formulas.clear()
        # The order must not depend on which formula of these terms came first.
        ordered = dict(sorted(terms.items(), key=_order)) if len(terms) > 1 else dict(terms)
        at_bounds = sum(k * math.prod(a.at_bounds for a in m) for m, k in ordered.items())
        by = tables.shift
        value = sum(k * math.prod(_shifted_value(a, by) for a in m) for m, k in ordered.items()) if by else at_bounds
        # A float that is divided by a formula takes the value. It is not 0: a formula that always is becomes a number.
        self = super().__new__(cls, value or 1)
        self.terms = ordered
        self.at_bounds = at_bounds
        self.caches = Caches()
        tables.formulas[key] = self
        return self

    def __reduce__(self) -> Any:
        return type(self), (dict(self.terms),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    @functools.cached_property
    def text(self) -> str:
        """The formula in C, of `int64_t` symbols."""
        parts = [_product(m, k) for m, k in sorted(self.terms.items(), key=_order)]
        joined = parts[0] + "".join(f" - {p[1:]}" if p[0] == "-" else f" + {p}" for p in parts[1:])
        return f"({joined})" if len(parts) > 1 else joined

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def minimum(self, other: int) -> int:
        """The smaller one of the formula and another extent."""
        raise NotImplementedError

    def at(self, values: Mapping[Symbol, Any]) -> Any:
        """The value of the formula for values of the symbols, or the array of values for arrays of them."""
        total: Any = 0
        for m, k in self.terms.items():
            product: Any = k
            for a in m:
                product = product * _value_of(a, values)
            total = total + product
        return total

    @functools.cached_property
    def _symbols(self) -> frozenset[Symbol]:
        return frozenset().union(*(atom_symbols(a) for m in self.terms for a in m))

    def symbols(self) -> frozenset[Symbol]:
        """The symbols of the formula."""
        return self._symbols

    @functools.cached_property
    def is_open(self) -> bool:
        """True if nothing bounds one of its lengths."""
        return not all(s.is_bounded for s in self._symbols)


def value_at(value: int, values: Mapping[Symbol, Any]) -> Any:
    """The value of an extent for values of the symbols."""
    return value.at(values) if isinstance(value, Formula) else value


def _value_of(atom: Atom, values: Mapping[Symbol, Any]) -> Any:
    if isinstance(atom, Symbol):
        return values[atom] // atom.step
    if isinstance(atom, Quotient):
        return value_at(atom.dividend, values) // value_at(atom.divisor, values)
    first, second = value_at(atom.first, values), value_at(atom.second, values)
    if isinstance(first, Formula):
        return first.minimum(second)
    if isinstance(second, Formula):
        return second.minimum(first)
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    return np.minimum(first, second)


def symbols_of(extents: Iterable[int]) -> list[Symbol]:
    """The symbols of these extents, in the order in which they appear; by name within one extent."""
    order: dict[Symbol, None] = {}
    for d in extents:
        if isinstance(d, Formula):
            order.update(dict.fromkeys(sorted(d.symbols(), key=lambda s: s.name)))
    return list(order)


def is_known(value: int) -> bool:
    """True for an extent that the build knows."""
    return not isinstance(value, Formula)


def is_open(value: int) -> bool:
    """True for a formula of a length that nothing bounds. Runs refuse lengths for which such a size is 2^62 or more."""
    return value.__class__ is not int and isinstance(value, Formula) and value.is_open


def at_typical(value: int) -> int:
    """The value of an extent at the upper bounds of its lengths, and at usual ones without a bound."""
    return value.at_bounds if isinstance(value, Formula) else value


def alone(extent: Formula) -> Symbol | None:
    """The symbol of a formula such as `2 * seq + 1`, whose value decides that of the symbol; None for other formulas."""
    others = [m for m in extent.terms if m]
    if len(others) != 1 or len(others[0]) != 1 or not isinstance(others[0][0], Symbol):
        return None
    return others[0][0]


def symbol_of(extent: int) -> Symbol | None:
    """The symbol that the extent is; None for a number or another formula. The inverse of `extent_of`."""
    if not isinstance(extent, Formula) or len(extent.terms) != 1:
        return None
    ((m, k),) = extent.terms.items()
    return m[0] if len(m) == 1 and isinstance(m[0], Symbol) and k == m[0].step else None


def key_of(operand: int) -> int | Caches:
    """The key of an operand in caches. Formulas are keys by their identity: their own equality is a proof."""
    return operand.caches if isinstance(operand, Formula) else operand


def terms_of(value: int) -> Terms:
    """The terms of a formula, or of a constant."""
    return value.terms if isinstance(value, Formula) else ({(): int(value)} if value else {})


def atom_symbols(atom: Atom) -> frozenset[Symbol]:
    """The symbols in an atom."""
    return frozenset((atom,)) if isinstance(atom, Symbol) else atom.symbols


def _symbols_in(*extents: int) -> frozenset[Symbol]:
    return frozenset().union(*(x.symbols() for x in extents if isinstance(x, Formula)))


def _shifted_value(atom: Atom, below: int) -> int:
    """The value of an atom at lengths that many below the upper bounds of the symbols."""
    if isinstance(atom, Symbol):
        return max(atom.low // atom.step, atom.typical // atom.step - below)
    if isinstance(atom, Minimum):
        return min(int.__int__(atom.first), int.__int__(atom.second))
    return int.__int__(atom.dividend) // int.__int__(atom.divisor)


def whole_lengths(m: Monomial, k: int) -> tuple[list[Atom | str], int]:
    """The factors of a term and its coefficient.

    A length that is whole, because the coefficient has its step, is its name; other ones are atoms.
    """
    factors: list[Atom | str] = []
    for a in m:
        if isinstance(a, Symbol) and k % a.step == 0:
            factors.append(a.name)
            k //= a.step
        else:
            factors.append(a)
    return factors, k


def _product(m: Monomial, k: int) -> str:
    atoms, k = whole_lengths(m, k)
    factors = [a if isinstance(a, str) else a.text for a in atoms]
    if k == -1 and factors:
        factors[0] = "-" + factors[0]
    elif k != 1 or not factors:
        factors.insert(0, str(k))
    return " * ".join(factors)


def _order(term: tuple[Monomial, int]) -> tuple[bool, int, list[str]]:
    """Positive terms first, then products of more factors."""
    m, k = term
    return k < 0, -len(m), [a.text for a in m]
