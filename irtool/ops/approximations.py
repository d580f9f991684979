"""The rational and polynomial approximations behind `fast_exp`, `fast_tanh` and `fast_erf`, over numpy or te values.

Each takes the value and an `Arithmetic`, the handful of functions that differ between the two worlds, so that reference
and compiled code follow one formula. Coefficients: fast_tanh and fast_erf are the minimax fits that Eigen uses
(`ptanh_float`, `erf`), fast_exp is Cephes' `expf`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic for the formulas beside `+ - * /`.

    const: a number in the value's dtype; smaller, larger: binary minimum and maximum; power_of_two: `2 ** n` of a whole
    number held in float32, built from its bits.
    """

    const: Callable[[float], Any]
    smaller: Callable[[Any, Any], Any]
    larger: Callable[[Any, Any], Any]
    floor: Callable[[Any], Any]
    power_of_two: Callable[[Any], Any]


def _horner(x: Any, coefficients: Sequence[float], m: Arithmetic) -> Any:
    total = x * m.const(coefficients[0]) + m.const(coefficients[1])
    for c in coefficients[2:]:
        total = x * total + m.const(c)
    return total


_TANH_ODD = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_EVEN = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)

_ERF_ODD = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_EVEN = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)

_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_EXP_LIMIT = 88.3762626647950


def fast_tanh(x: Any, m: Arithmetic) -> Any:
    """tanh of a float32, as an odd polynomial over an even one; beyond 9 it is 1."""
    x = m.larger(m.const(-9.0), m.smaller(m.const(9.0), x))
    square = x * x
    return (x * _horner(square, _TANH_ODD, m)) / _horner(square, _TANH_EVEN, m)


def fast_erf(x: Any, m: Arithmetic) -> Any:
    """erf of a float32, as an odd polynomial over an even one; beyond 4 it is taken at 4."""
    x = m.larger(m.const(-4.0), m.smaller(m.const(4.0), x))  # of a NaN and a number, the second operand
    square = x * x
    return (x * _horner(square, _ERF_ODD, m)) / _horner(square, _ERF_EVEN, m)


def fast_exp(x: Any, m: Arithmetic) -> Any:
    """exp of a float32: `2**n * exp(f)`, n whole and |f| <= ln(2)/2, never below `x` itself."""
    inside = m.larger(m.smaller(x, m.const(_EXP_LIMIT)), m.const(-_EXP_LIMIT))
    n = m.floor(inside * m.const(1.44269504088896341) + m.const(0.5))
    f = inside - n * m.const(0.6931471805599453)
    y = _horner(f, _EXP, m) * f * f + f + m.const(1.0)
    return m.larger(m.power_of_two(n) * y, x)
