"""The polynomials behind vector functions, evaluated in double precision over the interval that each is for.

The C that they become is compared with libm elsewhere; that needs a compiler and takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

Function = Callable[[float], float]

HALF_LOG = math.log(2) / 2
SINGLE, DOUBLE = 1.2e-7, 4e-16
"""The largest relative errors: of a step of a number, and of a few roundings more in double precision."""


def value(terms: Sequence[float], x: float) -> float:
    """The polynomial with these coefficients, of the constant first."""
    total = 0.0
    for c in reversed(terms):
        total = total * x + c
    return total


def in_square(f: Callable[[Any, float, float], float]) -> Callable[[Any, float], float]:
    """Of `x`, with the polynomial of its square at hand."""
    return lambda terms, x: f(terms, x, value(terms, x * x))


odd = in_square(lambda terms, x, p: x * p)
rest = in_square(lambda terms, x, p: x + x * (x * x * p))


def log2_ratio(terms: Sequence[float], s: float) -> float:
    return s * 2 / math.log(2) + s**3 * value(terms, s * s)


POLYNOMIALS: dict[str, tuple[Callable[[Any, float], float], Function, float, float, float]] = {
    "vector_exponentials _EXP_TERMS": (value, math.exp, -HALF_LOG, HALF_LOG, SINGLE),
    "vector_exponentials _SHORT_EXP_TERMS": (value, math.exp, -HALF_LOG, HALF_LOG, SINGLE),
    "vector_exponentials EXP2_TERMS": (value, lambda x: 2**x, -0.5, 0.5, SINGLE),
    "vector_exponentials _EXP10_TERMS": (value, lambda x: 10**x, -math.log10(2) / 2, math.log10(2) / 2, SINGLE),
    "vector_exponentials _EXPM1_TERMS": (lambda t, x: x + x * x * value(t, x), math.expm1, -HALF_LOG, HALF_LOG, SINGLE),
    "vector_exponentials _TANH_TERMS": (odd, math.tanh, 0, 0.625, SINGLE),
    "vector_exponentials _ERF_TERMS": (odd, math.erf, 0, 1, SINGLE),
    "vector_exponentials _LOG2_ERFC_TERMS": (lambda t, x: 1 - 2 ** value(t, x), math.erf, 1, 3.95, SINGLE / 4),
    "vector_exponentials _SHORT_EXP2_TERMS": (value, lambda x: 2**x, -0.5, 0.5, SINGLE),
    "vector_logarithms _ASINH_TERMS": (odd, math.asinh, 0, 0.75, SINGLE),
    "vector_logarithms _ACOSH_TERMS": (
        lambda t, f: math.sqrt(2 * f) * value(t, f), lambda f: math.log1p(f + math.sqrt(f * (f + 2))), 0, 1, SINGLE),
    "vector_logarithms _ATANH_TERMS": (odd, math.atanh, 0, 0.5, SINGLE),
    "vector_powers _LOG2_TERMS": (log2_ratio, lambda s: 2 * math.atanh(s) / math.log(2), 0, 0.172, SINGLE / 8),
    "vector_logarithms _LOG_TERMS": (
        lambda t, f: f + f * f * value(t, f), math.log1p, math.sqrt(0.5) - 1, math.sqrt(2) - 1, SINGLE / 8),
    "vector_trigonometry _WAVE_TERMS": (rest, math.sin, 0, math.pi / 2, SINGLE / 8),
    "vector_trigonometry _ASIN_TERMS": (odd, math.asin, 0, 0.5, SINGLE),
    "vector_trigonometry _ATAN_TERMS": (odd, math.atan, 0, 1, SINGLE),
    "vector_doubles _EXP_TERMS": (value, math.exp, -HALF_LOG, HALF_LOG, DOUBLE),
    "vector_double_powers _LOG2_TERMS": (log2_ratio, lambda s: 2 * math.atanh(s) / math.log(2), 0, 0.077, DOUBLE),
    "vector_double_powers _EXP2_TERMS": (value, lambda x: 2**x, -0.5, 0.5, DOUBLE),
    "vector_double_logarithms _LOG_TERMS": (
        lambda t, s: 2 * s + s**3 * value(t, s * s), lambda s: 2 * math.atanh(s), 0, 0.172, DOUBLE),
    "vector_double_logarithms _EXPM1_TERMS": (lambda t, x: x + x * x * value(t, x), math.expm1, -HALF_LOG, HALF_LOG, DOUBLE),
    "vector_double_waves _WAVE_TERMS": (rest, math.sin, 0, math.pi / 2, DOUBLE),
    "vector_double_waves _ATAN_TERMS": (rest, math.atan, 0, math.sqrt(2) - 1, DOUBLE),
    "vector_double_waves _ASIN_TERMS": (rest, math.asin, 0, 0.5, DOUBLE),
}  # fmt: skip


PRECISIONS = {"float32": SINGLE, "float64": DOUBLE}


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_hyperbolic_parts(dtype: str) -> None:
    module = import_module("irtool.backends.formulas.vector_hyperbolics")
    for r in np.linspace(0.001, HALF_LOG, 301).tolist():
        even = 1 + r * r * value(module.COSH_TERMS[dtype], r * r)
        assert abs(even / math.cosh(r) - 1) < PRECISIONS[dtype]
        assert abs(r * value(module.SINH_TERMS[dtype], r * r) / math.sinh(r) - 1) < PRECISIONS[dtype]


@pytest.mark.parametrize(("family", "most"), [("vector_trigonometry", SINGLE / 4), ("vector_double_waves", DOUBLE)])
def test_a_quotient_is_the_tangent(family: str, most: float) -> None:
    module = import_module(f"irtool.backends.formulas.{family}")
    for r in np.linspace(0.001, math.pi / 4, 301).tolist():
        quotient = r * value(module._TAN_OVER, r * r) / value(module._TAN_UNDER, r * r)
        assert abs(quotient / math.tan(r) - 1) < most


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_polynomial_is_its_function(name: str) -> None:
    polynomial, function, first, last, most = POLYNOMIALS[name]
    module, terms = name.split()
    coefficients = getattr(import_module(f"irtool.backends.formulas.{module}"), terms)
    points = [x for x in np.linspace(first, last, 301).tolist() if x]
    errors = [abs(polynomial(coefficients, x) / function(x) - 1) for x in points]
    assert max(errors) < most, max(errors)


def test_a_quotient_is_what_the_error_function_lacks_to_one() -> None:
    module = import_module("irtool.backends.formulas.vector_exponentials")
    over, under = module._ERFCX_OVER, module._ERFCX_UNDER
    points = np.linspace(0, 9.4, 601).tolist()
    assert all(c > 0 for c in (*over, *under)), "no sum of them cancels"
    for x in points:
        exact = math.exp(x * x) * math.erfc(x)
        assert abs(value(over, x) / value(under, x) / exact - 1) < SINGLE * (1 + x * x / 2)
