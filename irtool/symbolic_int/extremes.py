"""Smaller and larger ones among extents, and limits of all of them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence

from .arithmetic import SymbolicInt, minimum, simplest
from .comparisons import SIGNS_OF
from .formulas import terms_of
from .intervals import interval
from .modes import Undecided
from .monomials import common_atoms
from .signs import signs, signs_of_difference


def holds(compare: Callable[[float, float], bool], a: float, b: float) -> bool:
    """True if the comparison, such as `operator.lt`, holds for all values of the symbols, in every mode."""
    if a.__class__ is int and b.__class__ is int:  # most of them
        return compare(a, b)
    if isinstance(a, SymbolicInt):
        if isinstance(b, int):
            return signs_of_difference(a, b) <= SIGNS_OF[compare]
    elif isinstance(b, SymbolicInt) and isinstance(a, int):
        return signs(a - b) <= SIGNS_OF[compare]
    return compare(a, b)  # two numbers, or one of them is infinite


def smaller(a: int, b: int) -> int:
    """The smaller of two extents. Raises Undecided if this depends on the symbols."""
    return a if a is b or signs(b - a) <= {0, 1} else b if signs(a - b) <= {0, 1} else min(a, b)


def larger(a: int, b: int) -> int:
    """The larger of two extents. Raises Undecided if this depends on the symbols."""
    return b if smaller(a, b) is a else a


def clamp(value: int, low: int, high: int) -> int:
    """The closest integer in the range. Raises Undecided if this depends on the symbols."""
    return smaller(larger(value, low), high)


def maximum(a: int, b: int) -> int:
    """The larger of two extents, as a formula if this depends on the symbols."""
    smaller_one = minimum(a, b)
    return b if smaller_one is a else a if smaller_one is b else a + b - smaller_one


def upper(a: int, b: int) -> int:
    """An extent that is no less than either of two that are not negative: one of them if it is never less than the other, else the sum of
    the terms of both, each with its larger coefficient."""
    if holds(operator.ge, a, b):
        return a
    if holds(operator.ge, b, a):
        return b
    ours, others = terms_of(a), terms_of(b)
    return simplest({m: max(ours.get(m, 0), others.get(m, 0)) for m in (*ours, *others)})


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


def greatest_common_divisor(*values: int) -> int:
    """A divisor of all these integers: the greatest of constants; of formulas the common factors of all terms."""
    if not any(isinstance(v, SymbolicInt) for v in values):
        return math.gcd(*values)
    terms = [(m, k) for v in values for m, k in terms_of(v).items()]
    return simplest({tuple(common_atoms(m for m, _ in terms)): math.gcd(*(k for _, k in terms))})
