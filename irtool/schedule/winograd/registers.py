"""Transforms of tiles, written out on vectors: every element of a tile is a vector, along the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ...tir.expr import Expr, Load, Var, const
from ...tir.stmt import VECTORIZED, Buffer, For, Scope, Stmt, Store, seq
from .cook_toom import Matrix, sums

Terms = Sequence[tuple[Fraction, int]]


class Registers:
    """A tile of vectors in registers: `shape` of vectors of so many lanes."""

    def __init__(self, name: str, shape: Sequence[int], lanes: int) -> None:
        self.buffer = Buffer(name, [*shape, lanes], "float32", Scope.REGISTER)
        self.lanes = lanes

    def read(self, lane: Var, *at: int) -> Expr:
        """An element, within a loop over the lanes."""
        return Load(self.buffer, (*map(const, at), lane))

    def write(self, lane: Var, value: Expr, *at: int) -> Stmt:
        """Sets an element, within a loop over the lanes."""
        return Store(self.buffer, (*map(const, at), lane), value)


def over_lanes(lanes: int, body: Callable[[Var], Stmt]) -> Stmt:
    """Statements in a loop over the lanes of a vector."""
    lane = Var("v")
    return For(lane, lanes, body(lane), VECTORIZED)


def transformed(
    matrix: Matrix,
    count: int,
    read: Callable[[int, int], Expr],
    write: Callable[[int, int, Expr], Stmt],
    shared: Registers,
    lane: Var,
) -> Stmt:
    """The matrix times `count` vectors of numbers, of which `read(n, i)` is element `i` of the n-th; `write(n, i, value)` stores
    element `i` of the n-th product. `shared` has a place for every sum that several elements share."""
    how = sums(matrix)
    inputs = len(matrix[0])
    made: list[Stmt] = []
    for n in range(count):

        def element(i: int, n: int = n) -> Expr:
            return read(n, i) if i < inputs else shared.read(lane, i - inputs)

        made += [shared.write(lane, _sum(s, element), k) for k, s in enumerate(how.shared)]
        made += [write(n, k, _sum(s, element)) for k, s in enumerate(how.results)]
    return seq(made)


def shared_sums(matrix: Matrix) -> int:
    """How many places `transformed` needs for sums that elements share: at least one."""
    return max(1, len(sums(matrix).shared))


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
