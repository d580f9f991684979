"""The error function and its complement, on arrays, to double precision, without scipy."""

from __future__ import annotations

import functools
import math

from ..deferred import np

_PER_UNIT = 64
_REACH = 6
"""erf(6) is 1 in double precision."""
_TERMS = 9


@functools.cache
def _table() -> np.ndarray:
    """Taylor coefficients of erf at 0, 1/64, 2/64 … 6: shape (385, 9).

    The n-th derivative of erf is 2/sqrt(pi) * exp(-x^2) * (-1)^(n-1) * H_(n-1)(x), H being the Hermite polynomials with
    H_0 = 1, H_1 = 2x and H_n = 2x H_(n-1) - 2(n-1) H_(n-2).
    """
    rows = []
    for k in range(_REACH * _PER_UNIT + 1):
        x = k / _PER_UNIT
        slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        hermite = [1.0, 2 * x]
        while len(hermite) < _TERMS:
            n = len(hermite)
            hermite.append(2 * x * hermite[-1] - 2 * (n - 1) * hermite[-2])
        row = [math.erf(x)]
        row += [slope * (-1) ** (n - 1) * hermite[n - 1] / math.factorial(n) for n in range(1, _TERMS)]
        rows.append(row)
    return np.array(rows)


def erf(x: np.ndarray) -> np.ndarray:
    """erf of each element, in `x`'s dtype. Expands around the nearest table entry, at most 1/128 away."""
    size = np.minimum(np.abs(np.asarray(x, "float64")), _REACH)
    known = ~np.isnan(size)
    size = np.where(known, size, 0.0)
    nearest = np.rint(size * _PER_UNIT).astype(np.intp)
    step = size - nearest / _PER_UNIT
    table = _table()
    total = table[:, -1][nearest]
    for column in range(_TERMS - 2, -1, -1):
        total = total * step + table[:, column][nearest]
    signed = np.copysign(total, np.asarray(x, "float64"))
    return np.where(known, signed, np.nan).astype(x.dtype)


_LEAST_COMPLEMENT = 27.25
"""erfc of it is 0 in double precision."""
_ASYMPTOTIC = 12
"""From here on the asymptotic series of erfc is exact to double precision after nine terms."""


@functools.cache
def _complement_table() -> np.ndarray:
    """erfc at 0, 1/64, 2/64 … 27.25, and the Taylor coefficients of y(n + s) / y(n) there, where y(x) = exp(x^2) erfc(x).

    The first derivative of y is 2x y - 2/sqrt(pi), the next ones are y^(k+1) = 2x y^(k) + 2k y^(k-1) (Abramowitz and Stegun, 7.2).
    """
    rows = []
    for k in range(int(_LEAST_COMPLEMENT * _PER_UNIT) + 1):
        x = k / _PER_UNIT
        scaled = math.exp(x * x) * math.erfc(x) if x < _ASYMPTOTIC else _asymptotic(x)
        derivatives = [scaled, 2 * x * scaled - 2 / math.sqrt(math.pi)]
        while len(derivatives) < _TERMS:
            n = len(derivatives) - 1
            derivatives.append(2 * x * derivatives[n] + 2 * n * derivatives[n - 1])
        rows.append([math.erfc(x), *(d / (math.factorial(n) * scaled) for n, d in enumerate(derivatives) if n)])
    return np.array(rows)


def _asymptotic(x: float) -> float:
    """exp(x^2) erfc(x) = (1 - 1/(2x^2) + 3/(2x^2)^2 - 15/(2x^2)^3 + …) / (x sqrt(pi)) (Abramowitz and Stegun, 7.1.23)."""
    term = total = 1.0
    for n in range(1, 10):
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * math.sqrt(math.pi))


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf of each element, in `x`'s dtype, to a few units in the last place however small it is.

    About the nearest table entry n, erfc(n + s) is erfc(n) exp(-s (2n + s)) y(n + s) / y(n).
    """
    exact = np.asarray(x, "float64")
    size = np.minimum(np.abs(exact), _LEAST_COMPLEMENT)
    known = ~np.isnan(size)
    size = np.where(known, size, 0.0)
    nearest = np.rint(size * _PER_UNIT).astype(np.intp)
    step = size - nearest / _PER_UNIT
    table = _complement_table()
    ratio = table[:, -1][nearest]
    for column in range(_TERMS - 2, 0, -1):
        ratio = ratio * step + table[:, column][nearest]
    ratio = ratio * step + 1
    with np.errstate(under="ignore"):
        below = table[:, 0][nearest] * np.exp(-step * (2 * nearest / _PER_UNIT + step)) * ratio
        result = np.where(exact < 0, 2 - below, below)
        return np.where(known, result, np.nan).astype(x.dtype)
