"""The matrices of minimal filtering, from interpolation points, in exact arithmetic (Winograd 1980; Lavin & Gray 2015).

F(m, r) makes m neighbouring results of a filter of r taps g over d = m + r - 1 inputs with d products:

    y = A^T ((G g) * (B^T d))

Toom and Cook's products of polynomials evaluate at d - 1 points and at infinity, multiply, and interpolate; the filter is the
transposed product. With points p_j, A^T has their powers, G their powers over the product of their differences from the others,
and the rows of B^T are the polynomials that vanish at all other points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Matrix = tuple[tuple[Fraction, ...], ...]

POINTS = (0, 1, -1, 2, -2)
"""Points in the order in which they are taken: small, exact in binary, and each beside its negative, as those share sums."""


@dataclass(frozen=True)
class Transforms:
    """F(`results`, `taps`): `data` is B^T, `weights` is G, `inverse` is A^T."""

    results: int
    taps: int
    data: Matrix
    weights: Matrix
    inverse: Matrix

    @property
    def size(self) -> int:
        """Inputs of a tile, and products, along one axis."""
        return self.results + self.taps - 1


@lru_cache(maxsize=16)
def transforms(results: int, taps: int = 3, points: tuple[int | Fraction, ...] = POINTS) -> Transforms:
    """The matrices of F(results, taps) from its first points and infinity. Raises ValueError where there are too few, or two are
    equal."""
    size = results + taps - 1
    used = [Fraction(p) for p in points[: size - 1]]
    if len(set(used)) != size - 1:
        raise ValueError(f"F({results}, {taps}) needs {size - 1} different points")
    data = [_vanishing([q for q in used if q != p], size) for p in used]
    weights = [[p**i / _differences(p, used) for i in range(taps)] for p in used]
    inverse = [[p**i for p in used] + [Fraction(int(i == results - 1))] for i in range(results)]
    return Transforms(
        results,
        taps,
        _frozen([*data, _vanishing(used, size)]),
        _frozen([*weights, [Fraction(int(i == taps - 1)) for i in range(taps)]]),
        _frozen(inverse),
    )


def _vanishing(roots: Sequence[Fraction], size: int) -> list[Fraction]:
    """Coefficients, lowest first, of the product of `x - root`; as many as `size` says."""
    coefficients = [Fraction(1)]
    for root in roots:
        coefficients = [a - root * b for a, b in zip([Fraction(0), *coefficients], [*coefficients, Fraction(0)])]
    return [*coefficients, *[Fraction(0)] * (size - len(coefficients))]


def _differences(p: Fraction, points: Sequence[Fraction]) -> Fraction:
    product = Fraction(1)
    for q in points:
        if q != p:
            product *= p - q
    return product


def _frozen(rows: Sequence[Sequence[Fraction]]) -> Matrix:
    return tuple(map(tuple, rows))


@dataclass(frozen=True)
class Sums:
    """A matrix times a vector as sums: first those in `shared`, of inputs; then the `results`, of inputs and of shared sums,
    which are numbered after the inputs. A sum is a list of terms `(factor, number)`."""

    shared: tuple[tuple[tuple[Fraction, int], ...], ...]
    results: tuple[tuple[tuple[Fraction, int], ...], ...]

    @property
    def operations(self) -> int:
        """Instructions: each term but the first of a sum is an addition, or a multiply-add."""
        return sum(len(s) - 1 for s in (*self.shared, *self.results))


@lru_cache(maxsize=64)
def sums(matrix: Matrix) -> Sums:
    """A matrix times a vector in few operations: neighbouring rows a + b and a - b share a and b, as do columns."""
    return min((_plain(matrix), _by_rows(matrix), _by_columns(matrix)), key=lambda s: s.operations)


def _terms(row: Sequence[Fraction]) -> tuple[tuple[Fraction, int], ...]:
    return tuple((c, n) for n, c in enumerate(row) if c)


def _plain(matrix: Matrix) -> Sums:
    return Sums((), tuple(_terms(row) for row in matrix))


def _by_rows(matrix: Matrix) -> Sums:
    """Rows j and j + 1 as the sum and the difference of what is equal and of what is opposite in them."""
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
    """The sum and the difference of inputs j and j + 1 where all their factors are equal or opposite."""
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
