"""Strassen's seven products (Gaussian Elimination is not Optimal, 1969), which need fewer additions of weights and data than later
forms of it, and round less than Winograd's (Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 23)."""

from __future__ import annotations

from fractions import Fraction

from ...core.matrix_sums import Matrix


def _matrix(*rows: str) -> Matrix:
    signs = {"+": 1, "-": -1, ".": 0}
    return tuple(tuple(Fraction(signs[x]) for x in row) for row in rows)


DATA = _matrix("+..+", "..++", "+...", "...+", "++..", "-.+.", ".+.-")
"""The factors from the data: sums of its quarters (upper left, upper right, lower left, lower right)."""

WEIGHTS = _matrix("+..+", "+...", ".+.-", "-.+.", "...+", "++..", "..++")
"""The factors from the weights: sums of the quarters of a matrix with a row for each step of the sum, and a column for each
result."""

RESULT = _matrix("+..+-.+", "..+.+..", ".+.+...", "+-+..+.")
"""The quarters of the result, as sums of the products."""

PRODUCTS = len(DATA)
"""The number of products."""

MUCH_LARGER = 64.0
"""The ratio of two rows, or columns, from which on errors of the larger one matter for the smaller one: they are relative to the
larger one, so that the smaller one has up to six bits less."""
