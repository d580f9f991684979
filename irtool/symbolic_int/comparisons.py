"""Comparisons of formulas, by the signs of their differences."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from .doubts import kept_pairs
from .formulas import Formula, at_typical, is_open
from .modes import PROOF, STRICT, Undecided, mode
from .periods import EXACT
from .signs import bound, greatest_at_bounds, signs, signs_of_difference

SIGNS_OF: Final[Mapping[Callable[[Any, Any], bool], frozenset[int]]] = {
    operator.lt: frozenset((-1,)),
    operator.le: frozenset((-1, 0)),
    operator.eq: frozenset((0,)),
    operator.ne: frozenset((-1, 1)),
    operator.ge: frozenset((0, 1)),
    operator.gt: frozenset((1,)),
}
"""The signs of `a - b` for which each comparison of `a` and `b` holds."""


class Comparable(Formula):
    """A formula with comparisons, which the mode decides if they hold for some values of the symbols only."""

    def __hash__(self) -> int:
        return hash(self.at_bounds)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._is_equal(other) if isinstance(other, int) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self._is_equal(other) if isinstance(other, int) else NotImplemented

    def _is_equal(self, other: int) -> bool:
        pairs = kept_pairs()
        if pairs is None and self.at_bounds != at_typical(other):
            return False
        outcomes = signs_of_difference(self, other)
        if pairs is not None and 0 in outcomes and len(outcomes) > 1:
            pairs.append((self, other))
        return outcomes == {0}

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, operator.ge)

    def _compare(self, other: Any, test: Callable[[float, float], bool]) -> bool:
        if isinstance(other, int):
            if type(other) is int and abs(other) >= EXACT and is_open(self):
                return test(0, other)  # runs check that all sizes are below
            outcomes = signs_of_difference(self, other)
        elif isinstance(other, float):
            if math.isinf(other):
                return test(0, other)
            exact = Fraction(other)
            return test(self * exact.denominator, exact.numerator)
        else:
            return NotImplemented
        if outcomes <= SIGNS_OF[test]:
            return True
        if outcomes.isdisjoint(SIGNS_OF[test]):
            return False
        if mode() == STRICT:
            raise Undecided(f"{self} compared with {other}")
        if mode() == PROOF:
            return False
        difference: Any = self - other
        return test(difference.at_bounds if isinstance(other, Formula) else difference.greatest, 0)

    def __bool__(self) -> bool:
        return signs(self) != {0}

    @functools.cached_property
    def greatest(self) -> int:
        """The greatest value: that at the upper bounds, unless a term is subtracted; the value at usual lengths without bounds."""
        return self.at_bounds if is_open(self) or greatest_at_bounds(self) else bound(self)
