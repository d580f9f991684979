"""Products of constant matrices and vectors in few operations, unrolled on registers: the transforms of Winograd's and Strassen's
algorithms.

Every element of a vector is a register of the processor: one number for each of its lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ...tir.expr import Expr, Load, Var, const
from ...tir.stmt import Buffer, Scope, Store

Matrix = tuple[tuple[Fraction, ...], ...]

Terms = Sequence[tuple[Fraction, int]]


@dataclass(frozen=True)
class Sums:
    """A matrix times a vector as sums: the sums of inputs in `shared`, then the `results`, which are sums of inputs and of shared
    sums.

    Shared sums are numbered after the inputs. A sum is a list of terms `(factor, number)`.
    """

    shared: tuple[tuple[tuple[Fraction, int], ...], ...]
    results: tuple[tuple[tuple[Fraction, int], ...], ...]

    @property
    def operations(self) -> int:
        """The number of instructions: each term of a sum but the first is an addition or a multiply-add."""
        return sum(len(s) - 1 for s in (*self.shared, *self.results))


@lru_cache(maxsize=64)
def sums(matrix: Matrix) -> Sums:
    """A matrix times a vector in few operations: neighbouring rows a + b and a - b share a and b, and so do columns."""
    return min((_plain(matrix), _by_rows(matrix), _by_columns(matrix)), key=lambda s: s.operations)


def _terms(row: Sequence[Fraction]) -> tuple[tuple[Fraction, int], ...]:
    return tuple((c, n) for n, c in enumerate(row) if c)


def _plain(matrix: Matrix) -> Sums:
    return Sums((), tuple(_terms(row) for row in matrix))


def _by_rows(matrix: Matrix) -> Sums:
    """Sums with shared terms of rows: rows j and j + 1 are the sum and the difference of their equal and of their opposite
    terms."""
    shared: list[tuple[tuple[Fraction, int], ...]] = []
    results: list[tuple[tuple[Fraction, int], ...]] = []
    inputs = len(matrix[0])
    while len(results) < len(matrix):
        j = len(results)
        pair = matrix[j : j + 2]
        if len(pair) == 2 and all(abs(a) == abs(b) for a, b in zip(*pair)):
            same = _terms([a if a == b else Fraction(0) for a, b in zip(*pair)])
            other = _terms([a if a != b else Fraction(0) for a, b in zip(*pair)])
            if same and other and len(same) + len(other) > 2:
                n = inputs + len(shared)
                shared += [same, other]
                results += [((Fraction(1), n), (Fraction(sign), n + 1)) for sign in (1, -1)]
                continue
        results.append(_terms(matrix[j]))
    return Sums(tuple(shared), tuple(results))


def _by_columns(matrix: Matrix) -> Sums:
    """Sums with shared terms of columns: the sum and the difference of inputs j and j + 1, if all their factors are equal or
    opposite."""
    inputs = len(matrix[0])
    columns = list(zip(*matrix))
    shared: list[tuple[tuple[Fraction, int], ...]] = []
    rows: list[list[tuple[Fraction, int]]] = [[] for _ in matrix]
    j = 0
    while j < inputs:
        pair = columns[j : j + 2]
        if len(pair) == 2 and all(a and abs(a) == abs(b) for a, b in zip(*pair)):
            n = inputs + len(shared)
            shared += [((Fraction(1), j), (Fraction(sign), j + 1)) for sign in (1, -1)]
            for row, a, b in zip(rows, *pair):
                row.append((a, n if a == b else n + 1))
            j += 2
            continue
        for row, a in zip(rows, columns[j]):
            if a:
                row.append((a, j))
        j += 1
    return Sums(tuple(shared), tuple(map(tuple, rows)))


class Registers:
    """Registers for shared sums: one vector of `lanes` for each, at least one. The products of several matrices reuse them."""

    def __init__(self, name: str, lanes: int, *matrices: Matrix) -> None:
        shape = (max(1, *(len(sums(m).shared) for m in matrices)), lanes)
        self.buffer = Buffer(name, shape, "float32", Scope.REGISTER)

    def read(self, lane: Var, n: int) -> Expr:
        """The value of a shared sum, inside of a loop over the lanes."""
        return Load(self.buffer, (const(n), lane))

    def write(self, lane: Var, value: Expr, n: int) -> Store:
        """The store of a shared sum, inside of a loop over the lanes."""
        return Store(self.buffer, (const(n), lane), value)


def transformed(
    matrix: Matrix, read: Callable[[int], Expr], write: Callable[[int, Expr], Store], shared: Registers, lane: Var
) -> tuple[Store, ...]:
    """The matrix times a vector of numbers: `read(i)` is its element i, `write(i, value)` stores element i of the product.

    `shared` has a register for every sum that several elements share.
    """
    how = sums(matrix)
    inputs = len(matrix[0])

    def element(i: int) -> Expr:
        return read(i) if i < inputs else shared.read(lane, i - inputs)

    parts = [shared.write(lane, _sum(s, element), k) for k, s in enumerate(how.shared)]
    return (*parts, *(write(k, _sum(s, element)) for k, s in enumerate(how.results)))


def _sum(terms: Terms, element: Callable[[int], Expr]) -> Expr:
    """The sum of the terms, positive ones first, so that no term is negated."""
    ordered = sorted(terms, key=lambda t: (t[0] < 0, abs(t[0]) != 1))
    factor, n = ordered[0]
    total = element(n) if factor == 1 else element(n) * _number(factor)
    for factor, n in ordered[1:]:
        part = element(n) if abs(factor) == 1 else element(n) * _number(abs(factor))
        total = total + part if factor > 0 else total - part
    return total


def _number(f: Fraction) -> Expr:
    return const(float(f), "float32")
