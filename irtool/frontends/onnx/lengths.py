"""Numbers that follow from lengths which only the run knows, while a model is read."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ...deferred import np
from ...symbolic_int import SymbolicInt, Undecided, maximum, minimum, signs


class Length:
    """`dividend / divisor`, a number of the run. The divisor is 1 for integers."""

    __slots__ = ("dividend", "divisor")
    __hash__ = None  # type: ignore[assignment]  # elements of arrays only

    def __init__(self, dividend: int, divisor: int = 1) -> None:
        self.dividend = dividend
        self.divisor = divisor

    def __repr__(self) -> str:
        return str(self.dividend) if self.divisor == 1 else f"{self.dividend} / {self.divisor}"

    def __add__(self, other: Any) -> Any:
        a, b, divisor = _over_one(self, other)
        return element(a + b, divisor)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        a, b, divisor = _over_one(self, other)
        return element(a - b, divisor)

    def __rsub__(self, other: Any) -> Any:
        return as_length(other) - self

    def __neg__(self) -> Any:
        return element(-self.dividend, self.divisor)

    def __mul__(self, other: Any) -> Any:
        other = as_length(other)
        return element(self.dividend * other.dividend, self.divisor * other.divisor)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq, "==")

    def __ne__(self, other: object) -> bool:
        return self._compare(other, operator.ne, "!=")

    def __lt__(self, other: object) -> bool:
        return self._compare(other, operator.lt, "<")

    def __le__(self, other: object) -> bool:
        return self._compare(other, operator.le, "<=")

    def __gt__(self, other: object) -> bool:
        return self._compare(other, operator.gt, ">")

    def __ge__(self, other: object) -> bool:
        return self._compare(other, operator.ge, ">=")

    def __bool__(self) -> bool:
        return self != 0

    def _compare(self, other: object, test: Callable[[int, int], bool], symbol: str) -> bool:
        a, b, _ = _over_one(self, other)
        outcomes = {test(s, 0) for s in signs(a - b)}
        if len(outcomes) > 1:
            raise Undecided(f"{self} {symbol} {other}")
        return outcomes.pop()


def elements_of(extents: Sequence[int]) -> np.ndarray:
    """A vector of extents."""
    return object_array([element(d) for d in extents])


def extents_in(elements: np.ndarray) -> list[int]:
    """The elements as integers and formulas. Raises TypeError if one of them is no whole number."""
    result = []
    for x in elements.ravel():
        if isinstance(x, Length) and x.divisor == 1:
            result.append(x.dividend)
        else:
            result.append(operator.index(x))
    return result


def element(dividend: int, divisor: int = 1) -> Any:
    """The quotient, a number of Python if no length is in it."""
    if not isinstance(dividend, SymbolicInt):
        quotient = Fraction(dividend, divisor)
        return quotient.numerator if quotient.denominator == 1 else quotient
    common = math.gcd(divisor, *dividend.terms.values())
    return Length(dividend // common, divisor // common)


def as_length(value: Any) -> Length:
    if isinstance(value, Length):
        return value
    if isinstance(value, bool | np.bool_):
        raise TypeError("a truth value is no length")
    if isinstance(value, SymbolicInt):
        raise TypeError("a length stands beside a formula")
    if isinstance(value, int | np.integer):
        return Length(int(value))
    exact = Fraction(float(value)) if not isinstance(value, Fraction) else value
    return Length(exact.numerator, exact.denominator)


def _over_one(a: Any, b: Any) -> tuple[int, int, int]:
    """Two numbers as dividends of one divisor."""
    a, b = as_length(a), as_length(b)
    divisor = math.lcm(a.divisor, b.divisor)
    return a.dividend * (divisor // a.divisor), b.dividend * (divisor // b.divisor), divisor


def floor(x: Any) -> Any:
    x = as_length(x)
    return element(x.dividend // x.divisor)


def ceil(x: Any) -> Any:
    return -as_length(floor(-as_length(x)))


def truncated(x: Any) -> Any:
    x = as_length(x)
    return floor(x) if x >= 0 else ceil(x)


def quotient(a: Any, b: Any) -> Any:
    """The exact quotient, by a number."""
    a, b = as_length(a), as_length(b)
    if isinstance(b.dividend, SymbolicInt):
        if isinstance(a.dividend, SymbolicInt) and a.dividend % b.dividend == 0:
            return element(a.dividend // b.dividend * b.divisor, a.divisor)
        raise TypeError("a quotient by a length")
    if b.dividend < 0:
        a, b = -a, -b
    return element(a.dividend * b.divisor, a.divisor * b.dividend)


def whole_quotient(a: Any, b: Any) -> Any:
    """The quotient of integers, rounded down."""
    a, b = as_length(a), as_length(b)
    return element(a.dividend // b.dividend)


def towards_zero(a: Any, b: Any) -> Any:
    if (as_length(a) >= 0) != (as_length(b) > 0):
        return -as_length(whole_quotient(-as_length(a), b))
    return whole_quotient(a, b)


def smaller_number(a: Any, b: Any) -> Any:
    x, y, divisor = _over_one(a, b)
    return element(minimum(x, y), divisor)


def larger_number(a: Any, b: Any) -> Any:
    x, y, divisor = _over_one(a, b)
    return element(maximum(x, y), divisor)


def object_array(values: Sequence[Any], shape: Sequence[int] | None = None) -> np.ndarray:
    result = np.empty(len(values), object)
    result[:] = values
    return result if shape is None else result.reshape(shape)
