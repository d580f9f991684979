"""Extents that are known when a network runs: integers with a formula over symbols.

An extent such as `2 * seq + 1` is an `int` that carries its formula, a polynomial of symbols, quotients and minimums. Arithmetic on extents yields
formulas, so that code written for constant extents computes formulas without change. A comparison is decided if it has one outcome for all
values of the symbols. If it has both, the mode decides:

- strict (the default): `<`, `<=`, `>` and `>=` raise `Undecided`; the caller has no answer for some lengths.
- `@estimate`: the greatest value of a formula stands for it; two formulas are compared at the upper bounds of the symbols. For costs, which
  choose among candidates that are all correct.
- `@proof`: the comparison is False. For functions that return more for a comparison that holds, and are correct without.

Equality is always a proof: `n == 8` is False, and `n % 8 == 0` is True only if it is for all lengths.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeVar

from .deferred import np

F = TypeVar("F", bound=Callable[..., Any])

MOST_POINTS: Final = 1 << 16
"""Combinations of values that are tried one by one to decide a comparison; with more of them, intervals decide."""

LARGEST: Final = (1 << 31) - 1
"""The largest length: loops of kernels count in 32 bits."""

_TYPICAL: Final = 512
"""The length, if nothing bounds it, that costs are estimated for."""

_LONGEST_PERIOD: Final = 1 << 15

_EXACT: Final = 1 << 62
"""Magnitudes below which values are computed in int64."""

_MOST_FACTORS: Final = 8
"""The greatest exponent of a power that is a formula."""

_OPERATORS: Final = {
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "**": operator.pow,
}

_STRICT, _ESTIMATE, _PROOF = range(3)
_mode: ContextVar[int] = ContextVar("mode", default=_STRICT)
_shift: ContextVar[int] = ContextVar("shift", default=0)


_uncertain: ContextVar[list[tuple[int, int]] | None] = ContextVar("uncertain", default=None)


class Undecided(Exception):
    """A comparison that holds for some values of the symbols, and not for others."""


def estimate(function: F) -> F:
    """Decorates a function in which the greatest value of a formula stands for it; see above."""
    return _in_mode(_ESTIMATE, function)


def proof(function: F) -> F:
    """Decorates a function in which a comparison is False unless it holds for all values of the symbols."""
    return _in_mode(_PROOF, function)


def strict(function: F) -> F:
    """Decorates a function that computes with formulas exactly, whoever calls it: a comparison that lengths decide raises `Undecided`."""
    return _in_mode(_STRICT, function)


def _in_mode(mode: int, function: F) -> F:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        token = _mode.set(mode)
        try:
            return function(*args, **kwargs)
        finally:
            _mode.reset(token)

    return wrapper  # type: ignore[return-value]  # functools.wraps does not keep the type variable


@contextmanager
def shifted(by: int) -> Iterator[None]:
    """Makes the `int` values of new formulas those of lengths that many below the upper bounds, for tests.

    A build in which anything depends on them, other than by the formulas, differs from one without.
    """
    token = _shift.set(by)
    try:
        yield
    finally:
        _shift.reset(token)


@contextmanager
def uncertain_equalities_kept() -> Iterator[None]:
    """Keeps the pairs of extents that are compared, equal for some lengths and not for others, for `uncertain_equalities`."""
    token = _uncertain.set([])
    try:
        yield
    finally:
        _uncertain.reset(token)


def uncertain_equalities() -> tuple[tuple[int, int], ...]:
    """The pairs that were kept since the last call, the latest first."""
    pairs = _uncertain.get()
    if not pairs:
        return ()
    latest = tuple(reversed(pairs))
    pairs.clear()
    return latest


@dataclass(frozen=True)
class Symbol:
    """A length of the run: the multiples of `step` from `low` (at least `step`) to `high`, both multiples of it.

    Formulas count in steps: the length `h` with a step of 4 is four times the atom, so that `h // 2 * 2` is `h`. Values, and the text in C,
    are those of the length.

    Attributes:
        choices: the only values, ascending, from `low` to `high`, if there are few; otherwise empty.
        is_bounded: False if `high` is the largest length that code can count to, and no bound that memory could be planned for.
    """

    name: str
    low: int
    high: int
    step: int = 1
    choices: tuple[int, ...] = ()
    is_bounded: bool = True

    @property
    def typical(self) -> int:
        """The upper bound, or a usual length without a bound: estimates compute with it."""
        return self.high if self.is_bounded else max(self.low, _TYPICAL // self.step * self.step)

    @functools.cached_property
    def at_bounds(self) -> int:
        """The greatest number of steps, or a usual one without a bound."""
        return self.typical // self.step

    @property
    def least(self) -> int:
        """The least length that a compiled function may take: it returns at once for 0 where no output has an element."""
        return 0 if self.low == self.step and not self.choices else self.low

    @property
    def range(self) -> str:
        """The lengths, in words: `from 4 to 64, in steps of 4`, `1, 4 or 8`."""
        if self.choices:
            *others, last = map(str, self.choices)
            return f"{', '.join(others)} or {last}" if others else last
        last = f" to {self.high}" if self.is_bounded else " on"
        return f"from {self.low}{last}" + (f", in steps of {self.step}" if self.step > 1 else "")

    @property
    def bounds(self) -> str:
        """The lengths, as the command line has them: `4<=seq<=64:4`, `batch=1|4|8`."""
        if self.choices:
            return f"{self.name}={'|'.join(map(str, self.choices))}"
        if not self.is_bounded:
            return self.name
        return f"{self.low}<={self.name}<={self.high}" + (f":{self.step}" if self.step > 1 else "")

    def __contains__(self, length: int) -> bool:
        if self.choices:
            return length in self.choices
        return self.low <= length <= self.high and length % self.step == 0

    def part(self, number: int, count: int) -> int:
        """The length that is `number / count` of the way from the least to the greatest one, or a usual one, rounded down."""
        if self.choices:
            return self.choices[(len(self.choices) - 1) * number // count]
        return self.low + (self.typical - self.low) * number // count // self.step * self.step

    def lengths(self, low: int) -> Any:
        """All lengths from `low` on, as a vector of int64."""
        if self.choices:
            return np.array([c for c in self.choices if c >= low], np.int64)
        return np.arange(low, self.high + 1, self.step, dtype=np.int64)

    def within(self, low: int, high: int, step: int = 1) -> Symbol | None:
        """The length with further bounds and a further step; None if no length is left."""
        step = math.lcm(self.step, step)
        low, high = -(-max(self.low, low) // step) * step, min(self.high, high) // step * step
        if not self.choices:
            is_bounded = self.is_bounded or high + step <= self.high
            return Symbol(self.name, low, high, step, is_bounded=is_bounded) if low <= high else None
        choices = [c for c in self.choices if low <= c <= high and c % step == 0]
        return choice_of(self.name, choices) if choices else None


@dataclass(frozen=True, eq=False)
class Quotient:
    """`dividend // divisor`, rounded down; the dividend is not negative, the divisor positive."""

    dividend: int
    divisor: int

    @functools.cached_property
    def at_bounds(self) -> int:
        """The quotient at the upper bounds of the symbols."""
        return _number_at_bounds(self.dividend) // _number_at_bounds(self.divisor)

    @functools.cached_property
    def text(self) -> str:
        """The quotient in C."""
        divisor = str(self.divisor)
        is_product = isinstance(self.divisor, SymbolicInt) and len(self.divisor.terms) == 1 and " * " in divisor
        return f"({self.dividend} / {f'({divisor})' if is_product else divisor})"

    @functools.cached_property
    def relaxed(self) -> Relaxed:
        """The quotient as a sum of variables that count from 0; see `interval`."""
        if isinstance(self.divisor, SymbolicInt):
            most = interval(self.dividend)[1] // max(interval(self.divisor)[0], Fraction(1))
            return {((self.text, int(most)),): Fraction(1)}
        terms = {m: k / self.divisor for m, k in _relaxed(self.dividend).items()}
        terms[((f"{self.text} remainder", self.divisor - 1),)] = Fraction(-1, self.divisor)
        return terms

    @functools.cached_property
    def _key(self) -> tuple[str, frozenset[Symbol]]:
        """Bounds belong to it: a process may build networks whose lengths have one name and different bounds."""
        return self.text, frozenset(_symbols(self))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Quotient) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The smaller one of two extents, which the run decides; the first is a formula."""

    first: int
    second: int

    @functools.cached_property
    def at_bounds(self) -> int:
        """The smaller extent at the upper bounds of the symbols."""
        return min(_number_at_bounds(self.first), _number_at_bounds(self.second))

    @functools.cached_property
    def text(self) -> str:
        """The minimum in C."""
        return f"({self.first} < {self.second} ? {self.first} : {self.second})"

    @functools.cached_property
    def relaxed(self) -> Relaxed:
        """The first extent less a variable that counts from 0, which keeps that it is no greater; see `interval`."""
        terms = dict(_relaxed(self.first))
        excess = max(0, math.floor(interval(self.first - self.second)[1]))
        terms[((f"{self.text} excess", excess),)] = Fraction(-1)
        return terms

    @functools.cached_property
    def _key(self) -> tuple[str, frozenset[Symbol]]:
        """Bounds belong to it, as to a quotient."""
        return self.text, frozenset(_symbols(self))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Minimum) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self.text)


Variable = tuple[str, int]
"""A variable that counts from 0: its name and its greatest value."""
Relaxed = dict[tuple[Variable, ...], Fraction]
"""A sum of products of variables, with their factors."""
Atom = Symbol | Quotient | Minimum
Monomial = tuple[Atom, ...]
Terms = Mapping[Monomial, int]


class SymbolicInt(int):
    """A sum of products of atoms, symbols, quotients and minimums, with integer coefficients.

    Attributes:
        terms: the sum.
        at_bounds: the formula at the upper bounds of the symbols, and at usual lengths of those without; `bound` is the greatest value,
            which estimates read.

    The `int` value, which nobody may read, is the same; within `shifted`, it is that of other lengths.
    """

    terms: Terms
    at_bounds: int

    def __new__(cls, terms: Terms) -> SymbolicInt:
        at_bounds = 0
        for m, k in terms.items():
            for a in m:
                k *= a.at_bounds
            at_bounds += k
        by = _shift.get()
        value = sum(k * math.prod(_shifted_value(a, by) for a in m) for m, k in terms.items()) if by else at_bounds
        # A float that is divided by a formula takes the value. It is not 0: a formula that always is becomes a number.
        self = super().__new__(cls, value or 1)
        self.terms = terms
        self.at_bounds = at_bounds
        return self

    def __reduce__(self) -> Any:
        return SymbolicInt, (dict(self.terms),)

    def __copy__(self) -> SymbolicInt:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicInt:
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

    def __hash__(self) -> int:
        return hash(self.at_bounds)

    # -- arithmetic

    def __add__(self, other: Any) -> Any:
        return _sum(self.terms, _terms(other), 1) if isinstance(other, int) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _sum(self.terms, _terms(other), -1) if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return _sum(_terms(other), self.terms, -1) if isinstance(other, int) else NotImplemented

    def __neg__(self) -> Any:
        return _sum({}, self.terms, -1)

    def __pos__(self) -> SymbolicInt:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        product: dict[Monomial, int] = {}
        for m, k in self.terms.items():
            for n, j in _terms(other).items():
                key = tuple(sorted((*m, *n), key=_text))
                product[key] = product.get(key, 0) + k * j
        return _simplest(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _quotient(self, other) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other if isinstance(other, int) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self if isinstance(other, int) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << other) if type(other) is int else self._at_bounds("<<", other)

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other) if type(other) is int else self._at_bounds(">>", other)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if type(other) is int and 0 <= other <= _MOST_FACTORS and modulus is None:
            return math.prod([self] * other)
        return self._at_bounds("**", other)

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other >= 0 and other & (other + 1) == 0:
            return self % (other + 1)
        return self._at_bounds("&", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._at_bounds("|", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self._at_bounds("^", other)

    __rxor__ = __xor__

    def __rlshift__(self, other: Any) -> Any:
        return self._at_bounds("<<", other, True)

    def __rrshift__(self, other: Any) -> Any:
        return self._at_bounds(">>", other, True)

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return self._at_bounds("**", other, True)

    # -- numbers without a formula, which estimates compute with

    def __int__(self) -> int:
        if _mode.get() != _ESTIMATE:
            raise Undecided(f"the number of {self}")
        return self._greatest

    @functools.cached_property
    def _greatest(self) -> int:
        """The greatest value: that at the upper bounds, unless a term is subtracted; the value at usual lengths without bounds."""
        return self.at_bounds if is_open(self) or _grows(self) else bound(self)

    def __float__(self) -> float:
        return float(self.__int__())

    def __truediv__(self, other: Any) -> Any:
        return self.__int__() / _number(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _number(other) / self.__int__()

    def bit_length(self) -> int:
        """The bits of the greatest value in an estimate."""
        return self.__int__().bit_length()

    def bit_count(self) -> int:
        """The ones among the bits of the greatest value, in an estimate."""
        return self.__int__().bit_count()

    def _at_bounds(self, op: str, other: Any, is_reflected: bool = False) -> Any:
        """The result for numbers in an estimate. Raises Undecided in other modes: it has no formula."""
        if not isinstance(other, int):
            return NotImplemented
        a, b = (other, self) if is_reflected else (self, other)
        if _mode.get() != _ESTIMATE:
            raise Undecided(f"{a} {op} {b}")
        return _OPERATORS[op](int(a), int(b))

    # -- comparisons

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._is_equal(other) if isinstance(other, int) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self._is_equal(other) if isinstance(other, int) else NotImplemented

    def _is_equal(self, other: int) -> bool:
        pairs = _uncertain.get()
        if pairs is None and self.at_bounds != _number_at_bounds(other):
            return False
        outcomes = signs(self - other)
        if pairs is not None and 0 in outcomes and len(outcomes) > 1:
            pairs.append((self, other))
        return outcomes == {0}

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, lambda d: d < 0)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, lambda d: d <= 0)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, lambda d: d > 0)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, lambda d: d >= 0)

    def _compare(self, other: Any, test: Callable[[float], bool]) -> bool:
        if isinstance(other, float):
            if math.isinf(other):
                return test(-other)
            other = Fraction(other)
            difference = self * other.denominator - other.numerator
        elif isinstance(other, int):
            if type(other) is int and abs(other) >= _EXACT and is_open(self):
                return test(-other)  # runs check that all sizes are below
            difference = self - other
        else:
            return NotImplemented
        outcomes = {test(s) for s in signs(difference)}
        if len(outcomes) == 1:
            return outcomes.pop()
        mode = _mode.get()
        if mode == _STRICT:
            raise Undecided(f"{self} compared with {other}")
        if mode == _PROOF:
            return False
        return test(difference.at_bounds if isinstance(other, SymbolicInt) else difference._greatest)

    def __bool__(self) -> bool:
        return signs(self) != {0}

    # -- values

    def at(self, values: Mapping[Symbol, Any]) -> Any:
        """The value of the formula for values of the symbols, or the array of values for arrays of them."""
        total: Any = 0
        for m, k in self.terms.items():
            product: Any = k
            for a in m:
                product = product * _value_of(a, values)
            total = total + product
        return total

    def symbols(self) -> set[Symbol]:
        """The symbols of the formula."""
        return set().union(*(_symbols(a) for m in self.terms for a in m))


def choice_of(name: str, choices: Iterable[int]) -> Symbol:
    """The length with these values alone, one at least; its step divides all of them."""
    values = tuple(sorted(set(choices)))
    return Symbol(name, values[0], values[-1], math.gcd(*values), values)


def symbolic(name: str, low: int, high: int, step: int = 1) -> SymbolicInt:
    """The extent of that name: the multiples of `step` from `low` to `high`."""
    return extent_of(Symbol(name, low, high, step))


def extent_of(symbol: Symbol) -> SymbolicInt:
    """The extent that is the symbol alone."""
    return SymbolicInt({(symbol,): symbol.step})


def symbol_of(extent: int) -> Symbol | None:
    """The symbol that the extent is; None for a number or another formula. The inverse of `extent_of`."""
    if not isinstance(extent, SymbolicInt) or len(extent.terms) != 1:
        return None
    ((m, k),) = extent.terms.items()
    return m[0] if len(m) == 1 and isinstance(m[0], Symbol) and k == m[0].step else None


def alone(extent: SymbolicInt) -> Symbol | None:
    """The symbol of a formula such as `2 * seq + 1`, whose value decides that of the symbol; None for other formulas."""
    others = [m for m in extent.terms if m]
    if len(others) != 1 or len(others[0]) != 1 or not isinstance(others[0][0], Symbol):
        return None
    return others[0][0]


def value_at(value: int, values: Mapping[Symbol, Any]) -> Any:
    """The value of an extent for values of the symbols."""
    return value.at(values) if isinstance(value, SymbolicInt) else value


def _value_of(atom: Atom, values: Mapping[Symbol, Any]) -> Any:
    if isinstance(atom, Symbol):
        return values[atom] // atom.step
    if isinstance(atom, Quotient):
        return value_at(atom.dividend, values) // value_at(atom.divisor, values)
    first, second = value_at(atom.first, values), value_at(atom.second, values)
    if isinstance(first, int) and isinstance(second, int):
        return minimum(first, second)
    return np.minimum(first, second)


def symbols_of(extents: Iterable[int]) -> list[Symbol]:
    """The symbols of these extents, in the order in which they appear; by name within one extent."""
    order: dict[Symbol, None] = {}
    for d in extents:
        if isinstance(d, SymbolicInt):
            order.update(dict.fromkeys(sorted(d.symbols(), key=lambda s: s.name)))
    return list(order)


def bound(value: int) -> int:
    """The greatest value of an extent, which sizes memory."""
    if not isinstance(value, SymbolicInt):
        return value
    symbols = sorted(value.symbols(), key=lambda s: s.name)
    if _count_points(symbols) > MOST_POINTS:
        return math.floor(interval(value)[1])
    return int(np.max(value.at(_grid(symbols))))


def planned(value: int) -> int:
    """The bytes or elements that memory is planned for: the greatest value, or the formula itself if nothing bounds its lengths."""
    return value if is_open(value) else bound(value)


def is_open(value: int) -> bool:
    """True for a formula of a length that nothing bounds. Runs refuse lengths for which such a size is 2^62 or more."""
    return isinstance(value, SymbolicInt) and not all(s.is_bounded for s in value.symbols())


def at_typical(value: int) -> int:
    """The value of an extent at the upper bounds of its lengths, and at usual ones without a bound."""
    return value.at_bounds if isinstance(value, SymbolicInt) else value


def upper(a: int, b: int) -> int:
    """An extent that is no less than either of two that are not negative: one of them if it is never less than the other, else the sum of
    the terms of both, each with its larger coefficient."""
    if holds(operator.ge, a, b):
        return a
    if holds(operator.ge, b, a):
        return b
    ours, others = _terms(a), _terms(b)
    return _simplest({m: max(ours.get(m, 0), others.get(m, 0)) for m in (*ours, *others)})


def smaller(a: int, b: int) -> int:
    """The smaller of two extents. Raises Undecided if this depends on the symbols."""
    return a if a is b or signs(b - a) <= {0, 1} else b if signs(a - b) <= {0, 1} else min(a, b)


def minimum(a: int, b: int) -> int:
    """The smaller of two extents, as a formula if this depends on the symbols."""
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return min(a, b)
    outcomes = signs(a - b)
    if outcomes <= {-1, 0}:
        return a
    if outcomes <= {0, 1}:
        return b
    first, second = sorted((a, b), key=lambda x: (not isinstance(x, SymbolicInt), str(x)))
    constant = _terms(first).get((), 0)  # the smaller one of a - 3 and 0 is that of a and 3, less 3
    return SymbolicInt({(Minimum(first - constant, second - constant),): 1}) + constant


def maximum(a: int, b: int) -> int:
    """The larger of two extents, as a formula if this depends on the symbols."""
    smaller_one = minimum(a, b)
    return b if smaller_one is a else a if smaller_one is b else a + b - smaller_one


def larger(a: int, b: int) -> int:
    """The larger of two extents. Raises Undecided if this depends on the symbols."""
    return b if smaller(a, b) is a else a


def holds(compare: Callable[[float, float], bool], a: float, b: float) -> bool:
    """True if the comparison, such as `operator.lt`, holds for all values of the symbols, in every mode."""
    if not isinstance(a, SymbolicInt) and not isinstance(b, SymbolicInt):
        return compare(a, b)
    if isinstance(a, int) and isinstance(b, int):
        return all(compare(sign, 0) for sign in signs(a - b))
    return compare(a, b)  # one of them is infinite


def least(*values: float) -> float:
    """The minimum of limits, or a limit below all of them if the run decides which one is the minimum."""
    return _extreme(values, operator.le, 0)


def greatest(*values: float) -> float:
    """The maximum of limits, or a limit above all of them if the run decides which one is the maximum."""
    return _extreme(values, operator.ge, 1)


def _extreme(values: Sequence[float], compare: Callable[[float, float], bool], end: int) -> float:
    for v in values:
        if all(holds(compare, v, w) for w in values):
            return v
    ends = [interval(v)[end] if isinstance(v, int) else v for v in values]
    limit = max(ends) if end else min(ends)
    return float(limit) if math.isinf(limit) else (math.floor, math.ceil)[end](limit)


def greatest_common_divisor(*values: int) -> int:
    """A divisor of all these integers: the greatest of constants; of formulas the common factors of all terms."""
    if not any(isinstance(v, SymbolicInt) for v in values):
        return math.gcd(*values)
    terms = [(m, k) for v in values for m, k in _terms(v).items()]
    common = list(terms[0][0])
    for m, _ in terms[1:]:
        common = [a for n, a in enumerate(common) if common[: n + 1].count(a) <= m.count(a)]
    return _simplest({tuple(common): math.gcd(*(k for _, k in terms))})


def samples(extents: Sequence[int], count: int = 16) -> list[tuple[int, ...]]:
    """The values of these extents for some lengths, evenly spread from the least of each symbol to its greatest. For costs."""
    symbols = symbols_of(extents)
    points = [{s: s.part(n, count - 1) for s in symbols} for n in range(count)]
    return list(dict.fromkeys(tuple(int(value_at(d, p)) for d in extents) for p in points))


def is_known(value: int) -> bool:
    """True for an extent that the build knows."""
    return not isinstance(value, SymbolicInt)


def as_integer(limit: float) -> int:
    """A finite limit as an integer, with its formula."""
    return limit if isinstance(limit, int) else int(limit)


def ascending(values: Iterable[int]) -> list[int]:
    """The extents in an order in which none is greater than the next one, without equal ones. Raises Undecided without such an order."""
    order: list[int] = []
    for v in values:
        if v not in order:
            place = next((n for n, w in enumerate(order) if holds(operator.le, v, w)), len(order))
            order.insert(place, v)
    for a, b in itertools.pairwise(order):
        if not holds(operator.le, a, b):
            raise Undecided(f"{a} compared with {b}")
    return order


def clamp(value: int, low: int, high: int) -> int:
    """The closest integer in the range. Raises Undecided if this depends on the symbols."""
    return smaller(larger(value, low), high)


def none_if_undecided(function: F) -> F:
    """Decorates a function that returns None for forms that it does not support: forms that depend on unknown lengths are among them."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Undecided:
            return None

    return wrapper  # type: ignore[return-value]  # functools.wraps does not keep the type variable


def signs(value: int) -> set[int]:
    """The signs, -1, 0 and 1, that the value can have; more of them if intervals decide, which ignore relations between terms."""
    if not isinstance(value, SymbolicInt):
        return {(value > 0) - (value < 0)}
    return _signs(frozenset(value.terms.items()))


@functools.lru_cache(maxsize=1 << 14)
def _signs(terms: frozenset[tuple[Monomial, int]]) -> set[int]:
    value = SymbolicInt(dict(terms))
    low, high = interval(value)
    symbols = sorted(value.symbols(), key=lambda s: s.name)
    if low > 0 or high < 0 or max(-low, high) >= _EXACT or _count_points(symbols) > MOST_POINTS:
        possible = {s for s, is_possible in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if is_possible}
        exact = _signs_by_remainder(value) if len(possible) > 1 and is_open(value) else None
        return possible if exact is None else possible & exact
    return {int(x) for x in np.unique(np.sign(value.at(_grid(symbols))))}


def _grows(value: int) -> bool:
    """True if the value of a formula without subtractions is the greatest one at the upper bounds of the symbols."""
    if not isinstance(value, SymbolicInt):
        return True
    parts = [a for m in value.terms for a in m if not isinstance(a, Symbol)]
    within = [x for a in parts for x in ((a.dividend, a.divisor) if isinstance(a, Quotient) else (a.first, a.second))]
    divisors = [a.divisor for a in parts if isinstance(a, Quotient)]
    return all(k >= 0 for k in value.terms.values()) and all(map(is_known, divisors)) and all(map(_grows, within))


def _signs_by_remainder(value: SymbolicInt) -> set[int] | None:
    """The signs of a formula whose quotients are all of one product n of lengths, by constants; None for others.

    Such a formula is linear along n, n + p, n + 2 p, … for the period p, the product of the divisors inside each other: for each remainder,
    the first value and the slope tell the signs.
    """
    m = _without_common_factors(value)
    base = _base(m)
    period = _period(m) if base is not None else None
    if base is None or period is None or period > _LONGEST_PERIOD:
        return None
    far = _EXACT // (4 * _sum_of_coefficients(m))
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
    for m, k in _terms(value).items():
        inside = [_sum_of_coefficients(a.dividend) for a in m if isinstance(a, Quotient)]
        total += abs(k) * math.prod(inside)
    return total


def _without_common_factors(value: SymbolicInt) -> SymbolicInt:
    """The formula without the lengths that are factors of all its terms: they are positive."""
    common = list(next(iter(value.terms)))
    for m in value.terms:
        common = [a for n, a in enumerate(common) if common[: n + 1].count(a) <= m.count(a)]
    factors = tuple(a for a in common if isinstance(a, Symbol) and a.low > 0)
    if not factors:
        return value
    rest = {_without(m, factors): k for m, k in value.terms.items()}
    return SymbolicInt(rest) if rest.keys() != {()} else value


def _base(value: int) -> Monomial | None:
    """The only product of lengths in a formula, and in its quotients; None if there are several, or atoms of other kinds."""
    bases: set[Monomial] = set()
    stack: list[int] = [value]
    while stack:
        for m in _terms(stack.pop()):
            if all(isinstance(a, Symbol) for a in m):
                bases |= {m} if m else set()
            elif len(m) == 1 and isinstance(q := m[0], Quotient) and not isinstance(q.divisor, SymbolicInt):
                stack.append(q.dividend)
            else:
                return None
    return bases.pop() if len(bases) == 1 else None


def _period(value: int) -> int:
    """The period of a formula with a base: the divisors of quotients inside each other are factors of it."""
    return math.lcm(*(_period(a.dividend) * a.divisor for m in _terms(value) for a in m if isinstance(a, Quotient)))


def _at_base(value: int, base: Monomial, n: Any) -> Any:
    """The values of a formula for values of its base."""
    total: Any = 0
    for m, k in _terms(value).items():
        if m == base:
            total = total + k * n
        elif not m:
            total = total + k
        else:
            (q,) = m
            assert isinstance(q, Quotient)
            total = total + k * (_at_base(q.dividend, base, n) // q.divisor)
    return total


def _count_points(symbols: Iterable[Symbol]) -> int:
    return math.prod(len(s.choices) or (s.high - s.low) // s.step + 1 for s in symbols)


def _grid(symbols: Sequence[Symbol]) -> dict[Symbol, Any]:
    """All values of the symbols, as arrays that broadcast to all combinations."""
    axes = [s.lengths(s.low) for s in symbols]
    return dict(zip(symbols, np.meshgrid(*axes, indexing="ij", sparse=True), strict=True))


def interval(value: int) -> tuple[Fraction, Fraction]:
    """A lower and an upper limit of the value.

    Each quotient x // d becomes (x - r) / d with a remainder r from 0 to d - 1, which keeps the relation between a length and its quotient;
    each variable is counted from its lower limit, so that sums of products without negative terms have their least value there. A quotient
    is no less than 0 all the same.
    """
    if not isinstance(value, SymbolicInt):
        return Fraction(value), Fraction(value)
    low = high = Fraction(0)
    for m, k in _relaxed(value).items():
        most = k * math.prod(width for _, width in m)
        low, high = low + min(most, Fraction(0)) if m else low + k, high + max(most, Fraction(0)) if m else high + k
    if not is_open(value) or not _has_quotients(value):
        return low, high
    coarse = _by_atoms(value)
    return max(low, coarse[0]), min(high, coarse[1])


def _has_quotients(value: SymbolicInt) -> bool:
    return any(isinstance(a, Quotient) for m in value.terms for a in m)


def _by_atoms(value: SymbolicInt) -> tuple[Fraction, Fraction]:
    """The limits as if quotients, which are not negative, did not depend on lengths."""
    low = high = Fraction(0)
    for m, k in value.terms.items():
        ends = [_ends(a) for a in m]
        least, most = (k * math.prod(e[n] for e in ends) for n in (0, 1))
        low, high = low + min(least, most), high + max(least, most)
    return low, high


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
    for m, k in _terms(value).items():
        product: Relaxed = {(): Fraction(k)}
        for atom in m:
            factor = _relaxed_atom(atom)
            terms: Relaxed = {}
            for (a, x), (b, y) in itertools.product(product.items(), factor.items()):
                key = tuple(sorted((*a, *b)))
                terms[key] = terms.get(key, Fraction(0)) + x * y
            product = terms
        for key, x in product.items():
            total[key] = total.get(key, Fraction(0)) + x
    return {key: x for key, x in total.items() if x}


def _relaxed_atom(atom: Atom) -> Relaxed:
    if not isinstance(atom, Symbol):
        return atom.relaxed
    return {((atom.name, (atom.high - atom.low) // atom.step),): Fraction(1), (): Fraction(atom.low // atom.step)}


# -- formulas


def _terms(value: int) -> Terms:
    return value.terms if isinstance(value, SymbolicInt) else ({(): int(value)} if value else {})


def _simplest(terms: dict[Monomial, int]) -> int:
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
    return _simplest(total)


def _quotient(a: int, b: int) -> int:
    if isinstance(b, SymbolicInt):
        return _quotient_by_formula(a, b)
    if b == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if b == 1:
        return a
    if b < 0:
        return _quotient(-a, -b)
    whole = {m: k // b for m, k in _terms(a).items() if k % b == 0}
    others = {m: k for m, k in _terms(a).items() if k % b}
    if () in others:
        whole[()] = whole.get((), 0) + others[()] // b
        others[()] %= b
    rest = _simplest(others)
    if not isinstance(rest, SymbolicInt):
        return _simplest(whole) + rest // b
    if not signs(rest) <= {0, 1}:
        if signs(b - 1 - rest) <= {0, 1}:
            return _simplest(whole) - _quotient(b - 1 - rest, b)
        more = math.ceil(-interval(rest)[0] / b)
        return SymbolicInt({(Quotient(rest + more * b, b),): 1}) + _simplest(whole) - more
    if signs(rest - b) == {-1}:
        return _simplest(whole)
    common = math.gcd(b, *rest.terms.values())
    if common > 1:
        rest, b = SymbolicInt({m: k // common for m, k in rest.terms.items()}), b // common
    ((m, k), *further) = rest.terms.items()
    if not further and k == 1 and len(m) == 1 and isinstance(inner := m[0], Quotient) and type(inner.divisor) is int:
        return _quotient(inner.dividend, inner.divisor * b) + _simplest(whole)
    return SymbolicInt({(Quotient(rest, b),): 1}) + _simplest(whole)


def _quotient_by_formula(a: int, b: SymbolicInt) -> int:
    """The quotient by a product of symbols that divides each term, or by a sum that the dividend is a multiple of; otherwise an atom."""
    if not isinstance(a, SymbolicInt):
        if a == 0 or (a > 0 and signs(b - a) == {1}):
            return 0
    elif len(b.terms) == 1:
        ((divisor, k),) = b.terms.items()
        exact = {_without(m, divisor): j // k for m, j in a.terms.items() if _contains(m, divisor) and j % k == 0}
        if len(exact) == len(a.terms):
            return _simplest(exact)
    else:
        m, k = next(iter(b.terms.items()))
        for n, j in a.terms.items():
            if _contains(n, m) and j % k == 0:
                factor = _simplest({_without(n, m): j // k})
                if a - factor * b == 0:
                    return factor
    if signs(a) == {-1} and signs(b) == {1}:
        return -_quotient(b - 1 - a, b)
    if not signs(a) <= {0, 1} or signs(b) != {1}:
        raise Undecided(f"the quotient of {a} and {b}")
    if signs(a - b) == {-1}:
        return 0
    return SymbolicInt({(Quotient(a, b),): 1})


def _contains(m: Monomial, divisor: Monomial) -> bool:
    return all(m.count(a) >= divisor.count(a) for a in divisor)


def _without(m: Monomial, divisor: Monomial) -> Monomial:
    rest = [*m]
    for a in divisor:
        rest.remove(a)
    return tuple(rest)


def _symbols(atom: Atom) -> set[Symbol]:
    if isinstance(atom, Symbol):
        return {atom}
    parts = (atom.dividend, atom.divisor) if isinstance(atom, Quotient) else (atom.first, atom.second)
    return set().union(*(x.symbols() for x in parts if isinstance(x, SymbolicInt)))


def _shifted_value(atom: Atom, below: int) -> int:
    """The value of an atom at lengths that many below the upper bounds of the symbols."""
    if isinstance(atom, Symbol):
        return max(atom.low // atom.step, atom.typical // atom.step - below)
    if isinstance(atom, Minimum):
        return min(int.__int__(atom.first), int.__int__(atom.second))
    return int.__int__(atom.dividend) // int.__int__(atom.divisor)


def _number_at_bounds(value: int) -> int:
    return value.at_bounds if isinstance(value, SymbolicInt) else value


def _number(value: Any) -> Any:
    return value.__int__() if isinstance(value, SymbolicInt) else value


def _text(atom: Atom) -> str:
    if not isinstance(atom, Symbol):
        return atom.text
    return atom.name if atom.step == 1 else f"({atom.name} / {atom.step})"


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
    factors = [a if isinstance(a, str) else _text(a) for a in atoms]
    if k == -1 and factors:
        factors[0] = "-" + factors[0]
    elif k != 1 or not factors:
        factors.insert(0, str(k))
    return " * ".join(factors)


def _order(term: tuple[Monomial, int]) -> tuple[bool, int, list[str]]:
    """Positive terms first, then products of more factors."""
    m, k = term
    return k < 0, -len(m), [*map(_text, m)]
