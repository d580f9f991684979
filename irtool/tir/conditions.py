"""Conditions on lengths of a run, by which steps branch."""

from __future__ import annotations

from dataclasses import dataclass

from ..symbolic_int import Symbol, symbols_of


@dataclass(frozen=True)
class LengthIs:
    """The condition that a length of the run is a number."""

    symbol: Symbol
    value: int

    @property
    def symbols(self) -> list[Symbol]:
        """The lengths that it reads."""
        return [self.symbol]

    def __str__(self) -> str:
        return f"{self.symbol.name} == {self.value}"


@dataclass(frozen=True)
class IsShort:
    """The condition that one of `extents` is less than `least`, and none of `results` is 0; all are formulas of lengths."""

    extents: tuple[int, ...]
    results: tuple[int, ...]
    least: int = 1

    @property
    def symbols(self) -> list[Symbol]:
        """The lengths that it reads."""
        return symbols_of((*self.extents, *self.results))

    def __str__(self) -> str:
        short = " || ".join(f"{d} < {self.least}" for d in self.extents)
        results = [f"{d} > 0" for d in self.results]
        return " && ".join([f"({short})" if results and len(self.extents) > 1 else short, *results])


LengthCondition = LengthIs | IsShort
