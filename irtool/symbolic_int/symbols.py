"""Symbols: lengths of the run, with their bounds, steps and choices."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from ..deferred import np

LARGEST: Final = (1 << 31) - 1
"""The largest length: loops of kernels count in 32 bits."""

_TYPICAL: Final = 512
"""The length, if nothing bounds it, that costs are estimated for."""

_symbols: WeakValueDictionary[tuple[Any, ...], Symbol] = WeakValueDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Symbol:
    """A length of the run: the multiples of `step` from `low` (at least `step`) to `high`, both multiples of it.

    Formulas count in steps: the length `h` with a step of 4 is four times the atom, so that `h // 2 * 2` is `h`. Values, and the text in C,
    are those of the length. Equal symbols are one object: formulas compare and hash them often.

    Attributes:
        choices: the only values, ascending, from `low` to `high`, if there are few; otherwise empty.
        is_bounded: False if `high` is the largest length that code can count to, and no bound that memory could be planned for.
        is_mostly_high: True if nearly all values are `high`: estimates compute with it alone.
    """

    name: str
    low: int
    high: int
    step: int = 1
    choices: tuple[int, ...] = ()
    is_bounded: bool = True
    is_mostly_high: bool = False

    def __new__(
        cls,
        name: str,
        low: int,
        high: int,
        step: int = 1,
        choices: tuple[int, ...] = (),
        is_bounded: bool = True,
        is_mostly_high: bool = False,
    ) -> Symbol:
        with _lock:
            key = (name, low, high, step, choices, is_bounded, is_mostly_high)
            return _symbols.setdefault(key, super().__new__(cls))

    def __reduce__(self) -> Any:
        return Symbol, astuple(self)

    @functools.cached_property
    def text(self) -> str:
        """The number of steps in C."""
        return self.name if self.step == 1 else f"({self.name} / {self.step})"

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
        if self.is_mostly_high:
            return self.high
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


def choice_of(name: str, choices: Iterable[int]) -> Symbol:
    """The length with these values alone, one at least; its step divides all of them."""
    values = tuple(sorted(set(choices)))
    return Symbol(name, values[0], values[-1], math.gcd(*values), values)
