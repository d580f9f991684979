"""Formulas as numbers, in estimates."""

from __future__ import annotations

import operator
from typing import Any, Final

from .comparisons import Comparable
from .modes import ESTIMATE, Undecided, mode

_OPERATORS: Final = {
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "**": operator.pow,
}


class Number(Comparable):
    """A formula that is a number in an estimate: its greatest value. Other modes raise `Undecided`."""

    def __int__(self) -> int:
        if mode() != ESTIMATE:
            raise Undecided(f"the number of {self}")
        return self.greatest

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

    def at_greatest(self, op: str, other: Any, is_reflected: bool = False) -> Any:
        """The result for numbers in an estimate. Raises Undecided in other modes: it has no formula."""
        if not isinstance(other, int):
            return NotImplemented
        a, b = (other, self) if is_reflected else (self, other)
        if mode() != ESTIMATE:
            raise Undecided(f"{a} {op} {b}")
        return _OPERATORS[op](int(a), int(b))


def _number(value: Any) -> Any:
    return value.__int__() if isinstance(value, Number) else value
