"""The matrices of Winograd's minimal filtering.

`m` outputs of a correlation with `r` taps are `A.T @ ((G @ g) * (B.T @ d))`, where `d` holds the `m + r - 1` inputs and
`g` the taps. The matrices follow from interpolating polynomials at `m + r - 2` points and at infinity (Toom and Cook;
Lavin and Gray, 2015). The points are those of Barabasz et al., 2018, chosen for accuracy, as TVM does, so that
weights which TVM has transformed mean the same here.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ...deferred import np
from ..base import RelationError

_POINTS = {
    3: "0 -1 1",
    4: "0 -1 1 1/2",
    5: "0 -1 1 1/2 -2",
    6: "0 -1 1 1/2 -2 -1/2",
    7: "0 -1 1 1/2 -1/2 2 -2",
    8: "0 -1 1 1/2 -1/2 2 -2 -1/4",
    9: "0 -1 1 1/2 -1/2 2 -2 -1/4 4",
    10: "0 -1 1 1/2 -1/2 2 -2 -1/4 3/4 -4/3",
    11: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 3/4 -4/3",
    12: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 3/4 -4/3 1/4",
    13: "0 -1 1 1/2 -1/2 2 -2 -1/4 4 1/4 -3/4 4/3 -4",
}
"""The finite interpolation points, by their number `m + r - 2`."""


def points(m: int, r: int) -> list[Fraction]:
    """The finite interpolation points of F(m, r). Raises RelationError for unsupported sizes."""
    point_names = _POINTS.get(m + r - 2)
    if not 1 < m < 9 or not 2 < r < 8 or point_names is None:
        raise RelationError(f"Winograd's F({m}, {r}) is not supported: tiles of 2 to 8 and kernels of 3 to 7 are")
    return [Fraction(p) for p in point_names.split()]


@lru_cache(maxsize=64)
def matrices(m: int, r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`A` (alpha, m), `B` (alpha, alpha) and `G` (alpha, r) of F(m, r), in float64, `alpha = m + r - 1`."""
    nodes = points(m, r)
    n = len(nodes)
    alpha = n + 1
    # The derivative of the product of (x - a) at each point: the divisor of Lagrange interpolation.
    f = []
    for i, a in enumerate(nodes):
        value = Fraction(1)
        for k, b in enumerate(nodes):
            if k != i:
                value *= a - b
        f.append(value)
    signs = [Fraction(-1) if i == 0 and f[0] < 0 else Fraction(1) for i in range(n)]
    scale = [v * s for v, s in zip(f, signs, strict=True)]

    def powers(count: int) -> list[list[Fraction]]:
        rows = [[a**j for j in range(count)] for a in nodes]
        return [*rows, [Fraction(int(j == count - 1)) for j in range(count)]]

    a_matrix = powers(m)
    g_matrix = [[x / scale[i] for x in row] if i < n else row for i, row in enumerate(powers(r))]
    # Row i of B.T holds the coefficients of the product of (x - a_k), k != i, (divided by f and times the scale); the
    # last row those of the whole product.
    b_rows = []
    for i in range(n):
        coefficients = _product(nodes[:i] + nodes[i + 1 :])
        b_rows.append([c * signs[i] for c in coefficients] + [Fraction(0)])
    b_rows.append(_product(nodes))
    b_matrix = [[b_rows[i][j] for i in range(alpha)] for j in range(alpha)]
    as_array = [np.array([[float(x) for x in row] for row in rows]) for rows in (a_matrix, b_matrix, g_matrix)]
    return as_array[0], as_array[1], as_array[2]


def _product(roots: list[Fraction]) -> list[Fraction]:
    """Coefficients of the product of `x - root`, the constant one first."""
    out = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *out]
        out = [s - root * c for s, c in zip(shifted, [*out, Fraction(0)], strict=True)]
    return out


def restoring_matrix(m: int, r: int) -> np.ndarray:
    """The pseudo-inverse of `G`, (r, alpha), in float64: it restores weights from their transform.

    In fractions, so that every processor gets the same numbers; those of LAPACK differ in their last bits.
    """
    g = [[Fraction(float(x)) for x in row] for row in matrices(m, r)[2]]
    # The rows of (GᵀG | Gᵀ), of which elimination makes (1 | the pseudo-inverse): the columns of G are independent.
    rows = [[sum((x[i] * x[j] for x in g), Fraction(0)) for j in range(r)] + [x[i] for x in g] for i in range(r)]
    for i in range(r):
        pivot = next(n for n in range(i, r) if rows[n][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for n in range(r):
            if n != i and rows[n][i]:
                rows[n] = [x - rows[n][i] * y for x, y in zip(rows[n], rows[i], strict=True)]
    return np.array([[float(x) for x in row[r:]] for row in rows])
