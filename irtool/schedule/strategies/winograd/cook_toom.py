"""The matrices of minimal filtering, from interpolation points, in exact arithmetic (Winograd 1980; Lavin & Gray 2015).

F(m, r) computes m neighbouring results of a filter of r taps g over d = m + r - 1 inputs with d products:

    y = A^T ((G g) * (B^T d))

Toom and Cook's products of polynomials evaluate at d - 1 points and at infinity, multiply, and interpolate; the filter is the
transposed product. With points p_j, A^T has their powers, G their powers over the product of their differences from the others,
and the rows of B^T are the polynomials that vanish at all other points.

Results that are s elements apart are sums of s filters, of every s-th tap and every s-th input from one of the first s on: each
has transforms of its own, which are blocks of these matrices. A filter with a single tap needs no transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ...core.matrix_sums import Matrix, Sums, sums

POINTS = (0, 1, -1, 2, -2)
"""Points in order of preference: small, exact in binary, and each beside its negative, as those share sums."""


@dataclass(frozen=True)
class Transforms:
    """F(`results`, `taps`) for results `stride` inputs apart: `data` is B^T, `weights` is G, `inverse` is A^T."""

    results: int
    taps: int
    stride: int
    data: Matrix
    weights: Matrix
    inverse: Matrix

    @property
    def inputs(self) -> int:
        """Inputs of a tile along one axis."""
        return (self.results - 1) * self.stride + self.taps

    @property
    def products(self) -> int:
        """Products of a tile along one axis."""
        return len(self.data)

    # Estimates ask for these thousands of times, and hashing a matrix of fractions takes longer than they do.

    @cached_property
    def data_sums(self) -> Sums:
        """The sums of inputs."""
        return sums(self.data)

    @cached_property
    def inverse_sums(self) -> Sums:
        """The sums of products."""
        return sums(self.inverse)


def points_of(results: int, taps: int, stride: int = 1) -> int:
    """The number of points for the matrices of F(results, taps)."""
    return results - 1 + -(-taps // stride) - 1


@lru_cache(maxsize=16)
def transforms(results: int, taps: int = 3, stride: int = 1, points: tuple[int | Fraction, ...] = POINTS) -> Transforms:
    """The matrices of F(results, taps) from its first points and infinity. Raises ValueError for too few points, or two equal
    ones."""
    phases = [
        (_of_one_tap(results) if count == 1 else _of_neighbours(results, count, points), first)
        for first in range(min(stride, taps))
        for count in [-(-(taps - first) // stride)]
    ]
    inputs = (results - 1) * stride + taps
    return Transforms(
        results,
        taps,
        stride,
        _frozen([_spread(row, first, stride, inputs) for t, first in phases for row in t.data]),
        _frozen([_spread(row, first, stride, taps) for t, first in phases for row in t.weights]),
        _frozen([[x for t, _ in phases for x in t.inverse[i]] for i in range(results)]),
    )


def _spread(row: Sequence[Fraction], first: int, stride: int, size: int) -> list[Fraction]:
    """The elements of a row at every `stride`-th position from `first` on, and zeros between."""
    spread = [Fraction(0)] * size
    spread[first : first + len(row) * stride : stride] = row
    return spread


def _of_one_tap(results: int) -> Transforms:
    """The matrices for one tap: a product for each result."""
    identity = _frozen([[Fraction(int(i == j)) for j in range(results)] for i in range(results)])
    return Transforms(results, 1, 1, identity, _frozen([[Fraction(1)]] * results), identity)


def _of_neighbours(results: int, taps: int, points: Sequence[int | Fraction]) -> Transforms:
    """The matrices for results one input apart."""
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
        1,
        _frozen([*data, _vanishing(used, size)]),
        _frozen([*weights, [Fraction(int(i == taps - 1)) for i in range(taps)]]),
        _frozen(inverse),
    )


def _vanishing(roots: Sequence[Fraction], size: int) -> list[Fraction]:
    """The first `size` coefficients, lowest first, of the product of `x - root`."""
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
