"""Gradients of powers, remainders and extremes of two tensors."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import divide, multiply, negative, subtract
from ..core.constants import scalar_constant, single_value
from .rule import GradientSite, gradient, sum_like, zeros_like


@gradient("rsqrt")
def rsqrt(s: GradientSite) -> list[Expr]:
    """-½ y³ for y = x^(-½)."""
    cube = multiply(multiply(s.out, s.out), s.out)
    return [multiply(multiply(s.grad, scalar_constant(-0.5, s.dtype)), cube)]


@gradient("power")
def power(s: GradientSite) -> list[Expr]:
    """y x^(y - 1), 0 for y = 0 even at x = 0; x^y ln x, 0 where x is 0 and y is not negative."""
    x, y = s.args
    zero = scalar_constant(0.0, s.dtype)
    exponent = single_value(s.sources[1]) if len(s.sources) > 1 else None
    if exponent == 2:
        slope = multiply(y, x)
    elif exponent:
        slope = multiply(y, call("power", x, subtract(y, scalar_constant(1.0, s.dtype))))
    else:
        lower = call("power", x, subtract(y, scalar_constant(1.0, s.dtype)))
        slope = call("where", call("equal", y, zero), zero, multiply(y, lower))
    vanishes = call("logical_and", call("equal", x, zero), call("greater_equal", y, zero))
    of_exponent = call("where", vanishes, zero, multiply(s.out, call("log", x)))
    return [sum_like(multiply(s.grad, slope), x), sum_like(multiply(s.grad, of_exponent), y)]


@gradient("mod", "trunc_mod")
def truncated_remainder(s: GradientSite) -> list[Expr]:
    """1, and minus the quotient rounded towards zero."""
    x, y = s.args
    quotient = call("trunc_divide", x, y)
    return [sum_like(s.grad, x), sum_like(negative(multiply(s.grad, quotient)), y)]


@gradient("floor_mod")
def remainder(s: GradientSite) -> list[Expr]:
    """1, and minus the quotient rounded down."""
    x, y = s.args
    return [sum_like(s.grad, x), sum_like(negative(multiply(s.grad, call("floor_divide", x, y))), y)]


@gradient("maximum", "minimum")
def extreme(s: GradientSite) -> list[Expr]:
    """1 for the larger, or smaller, side; one half for each of two equal ones."""
    x, y = s.args
    zeros = zeros_like(s.grad)
    shared = call("where", call("equal", x, y), divide(s.grad, scalar_constant(2, s.dtype)), s.grad)
    x_loses, y_loses = call("less", x, y), call("less", y, x)
    if s.attrs.name == "minimum":
        x_loses, y_loses = y_loses, x_loses
    return [sum_like(call("where", loses, zeros, shared), a) for loses, a in ((x_loses, x), (y_loses, y))]
