"""Transforms of tiles, written out: every element of a tile is as many numbers as a vector has, along the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...tir.expr import Expr, Load, Var, const
from ...tir.stmt import Buffer, Scope, Store
from .cook_toom import Matrix, sums

Terms = Sequence[tuple[Fraction, int]]


class Registers:
    """Registers for the sums that elements of a product share: a vector of so many lanes for each, at least one."""

    def __init__(self, name: str, matrix: Matrix, lanes: int) -> None:
        shape = (max(1, len(sums(matrix).shared)), lanes)
        self.buffer = Buffer(name, shape, "float32", Scope.REGISTER)

    def read(self, lane: Var, n: int) -> Expr:
        """A sum, within a loop over the lanes."""
        return Load(self.buffer, (const(n), lane))

    def write(self, lane: Var, value: Expr, n: int) -> Store:
        """Sets a sum, within a loop over the lanes."""
        return Store(self.buffer, (const(n), lane), value)


def transformed(
    matrix: Matrix, read: Callable[[int], Expr], write: Callable[[int, Expr], Store], shared: Registers, lane: Var
) -> tuple[Store, ...]:
    """The matrix times a vector of numbers: `read(i)` is its element i, `write(i, value)` stores element i of the product. `shared`
    has a place for every sum that several elements share."""
    how = sums(matrix)
    inputs = len(matrix[0])

    def element(i: int) -> Expr:
        return read(i) if i < inputs else shared.read(lane, i - inputs)

    parts = [shared.write(lane, _sum(s, element), k) for k, s in enumerate(how.shared)]
    return (*parts, *(write(k, _sum(s, element)) for k, s in enumerate(how.results)))


def _sum(terms: Terms, element: Callable[[int], Expr]) -> Expr:
    """What is added comes first, so that nothing is negated."""
    ordered = sorted(terms, key=lambda t: (t[0] < 0, abs(t[0]) != 1))
    factor, n = ordered[0]
    total = element(n) if factor == 1 else element(n) * _number(factor)
    for factor, n in ordered[1:]:
        part = element(n) if abs(factor) == 1 else element(n) * _number(abs(factor))
        total = total + part if factor > 0 else total - part
    return total


def _number(f: Fraction) -> Expr:
    return const(float(f), "float32")
