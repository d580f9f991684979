"""New lengths of the run, whose values follow from elements of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...diagnostics import Diagnostic
from ...ir import Expr
from ...lower.mistakes import DynamicShape
from ...symbolic_int import Symbol, SymbolicInt, extent_of, symbols_of
from .ranges import Range

LARGEST = (1 << 31) - 1
"""The largest bound: loops of kernels count in 32 bits."""


class Unbounded(Exception):
    """A length whose bound nothing says."""


class Fresh:
    """Makes lengths, `count_0`, `count_1`, …, in the order of evaluation.

    Args:
        taken: names that other lengths have.
        bounds: lower and upper bounds by name, which take the place of what follows from the program.

    Attributes:
        problems: the lengths without a bound.
        symbols: all of them, in order.
    """

    def __init__(self, taken: Iterable[str] = (), bounds: Mapping[str, tuple[int, int]] | None = None) -> None:
        self._taken = set(taken)
        self._bounds = dict(bounds or {})
        self._number = 0
        self.problems: list[Diagnostic] = []
        self.symbols: dict[Symbol, None] = {}

    def length(self, possible: Range, e: Expr, what: str) -> SymbolicInt:
        """A length for values in this range. Raises Unbounded, and notes the problem at `e`, if nothing bounds it; `what` names it there."""
        name = self._name()
        if name in self._bounds:
            low, high = self._bounds[name]
            low = max(low, possible.least or 0)
        else:
            most = possible.most
            if most is None or most > LARGEST:
                self.problems.append(_unbounded(name, e, what))
                raise Unbounded
            low, high = max(possible.least or 0, 0), max(most, 0)
        symbol = Symbol(name, min(low, high), high)
        self.symbols[symbol] = None
        return extent_of(symbol)

    def is_stated(self, name: str) -> bool:
        """True for a length whose bounds do not follow from the program."""
        return name in self._bounds

    def state(self) -> tuple[int, int, dict[Symbol, None]]:
        """The number of lengths and problems so far, for `restore`."""
        return self._number, len(self.problems), dict(self.symbols)

    def restore(self, state: tuple[int, int, dict[Symbol, None]]) -> None:
        """Forgets the lengths and problems since then."""
        self._number, problems, symbols = state
        del self.problems[problems:]
        self.symbols.clear()
        self.symbols.update(symbols)

    def bound(self, bounds: Mapping[str, tuple[int, int]]) -> None:
        """Adds bounds by name."""
        self._bounds.update(bounds)

    def _name(self) -> str:
        while True:
            name = f"count_{self._number}"
            self._number += 1
            if name not in self._taken:
                return name

    def has_any(self, extents: Iterable[int]) -> bool:
        """True if an extent has one of these lengths."""
        return any(s in self.symbols for s in symbols_of(extents))


def _unbounded(name: str, e: Expr, what: str) -> Diagnostic:
    return Diagnostic(
        f"{what} follows from values, and nothing says how large it may be: the memory of a build is planned for a bound",
        e.span,
        help=f"give it one: --dim '{name}<=512'",
        code=DynamicShape,
    )
