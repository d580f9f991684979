"""Gradients of elementwise and broadcasting operators.

For `y = f(x)` a rule returns `grad * f'(x)`. A broadcasting operator sums the gradient back to each argument's shape.
"""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import add, divide, multiply, negative, subtract
from ..core.constants import scalar_constant
from .rule import GradientSite, gradient, ones_like, sum_like, zeros_like


@gradient("log")
def log(s: GradientSite) -> list[Expr]:
    """1 / x."""
    (x,) = s.args
    return [divide(multiply(s.grad, ones_like(x)), x)]


@gradient("log2", "log10")
def log_base(s: GradientSite) -> list[Expr]:
    """1 / (x ln b)."""
    (x,) = s.args
    base = scalar_constant(2.0 if s.attrs.name == "log2" else 10.0, s.dtype)
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), multiply(call("log", base), x))]


@gradient("tan")
def tan(s: GradientSite) -> list[Expr]:
    """1 / cos² x."""
    (x,) = s.args
    return [divide(s.grad, multiply(call("cos", x), call("cos", x)))]


@gradient("cos")
def cos(s: GradientSite) -> list[Expr]:
    """-sin x."""
    (x,) = s.args
    return [multiply(s.grad, multiply(negative(ones_like(x)), call("sin", x)))]


@gradient("sin")
def sin(s: GradientSite) -> list[Expr]:
    """cos x."""
    return [multiply(s.grad, call("cos", s.args[0]))]


@gradient("cosh")
def cosh(s: GradientSite) -> list[Expr]:
    """sinh x."""
    return [multiply(s.grad, call("sinh", s.args[0]))]


@gradient("sinh")
def sinh(s: GradientSite) -> list[Expr]:
    """cosh x."""
    return [multiply(s.grad, call("cosh", s.args[0]))]


@gradient("acos")
def acos(s: GradientSite) -> list[Expr]:
    """-1 / √(1 - x²)."""
    (x,) = s.args
    ones = ones_like(x)
    return [multiply(s.grad, divide(negative(ones), call("sqrt", subtract(ones, multiply(x, x)))))]


@gradient("asin")
def asin(s: GradientSite) -> list[Expr]:
    """1 / √(1 - x²)."""
    (x,) = s.args
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), call("sqrt", subtract(ones, multiply(x, x))))]


@gradient("acosh")
def acosh(s: GradientSite) -> list[Expr]:
    """1 / √(x² - 1)."""
    (x,) = s.args
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), call("sqrt", subtract(multiply(x, x), ones)))]


@gradient("asinh")
def asinh(s: GradientSite) -> list[Expr]:
    """1 / √(1 + x²)."""
    (x,) = s.args
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), call("sqrt", add(ones, multiply(x, x))))]


@gradient("atan")
def atan(s: GradientSite) -> list[Expr]:
    """1 / (1 + x²)."""
    (x,) = s.args
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), add(ones, multiply(x, x)))]


@gradient("atanh")
def atanh(s: GradientSite) -> list[Expr]:
    """1 / (1 - x²)."""
    (x,) = s.args
    ones = ones_like(x)
    return [divide(multiply(s.grad, ones), subtract(ones, multiply(x, x)))]


@gradient("exp")
def exp(s: GradientSite) -> list[Expr]:
    """exp x."""
    return [multiply(s.grad, call("exp", s.args[0]))]


@gradient("sqrt")
def sqrt(s: GradientSite) -> list[Expr]:
    """½ x^(-½)."""
    (x,) = s.args
    half = scalar_constant(0.5, s.dtype)
    return [multiply(multiply(s.grad, half), call("power", x, negative(half)))]


@gradient("sigmoid")
def sigmoid(s: GradientSite) -> list[Expr]:
    """y (1 - y) for y = sigmoid x."""
    return [multiply(multiply(s.grad, s.out), subtract(ones_like(s.out), s.out))]


@gradient("tanh")
def tanh(s: GradientSite) -> list[Expr]:
    """1 - tanh² x."""
    return [multiply(s.grad, subtract(ones_like(s.out), multiply(s.out, s.out)))]


@gradient("nn.relu")
def relu(s: GradientSite) -> list[Expr]:
    """0 where x < 0, 1 elsewhere."""
    (x,) = s.args
    zeros = zeros_like(x)
    ones = ones_like(x)
    return [call("where", call("less", x, zeros), zeros, multiply(ones, s.grad))]


@gradient("abs")
def absolute(s: GradientSite) -> list[Expr]:
    """-1 where x < 0, 1 elsewhere."""
    (x,) = s.args
    zeros = zeros_like(x)
    ones = ones_like(x)
    below = multiply(negative(ones), s.grad)
    return [call("where", call("less", x, zeros), below, multiply(ones, s.grad))]


@gradient("erf")
def erf(s: GradientSite) -> list[Expr]:
    """2/√π · exp(-x²)."""
    (x,) = s.args
    factor = scalar_constant(1.1283791670955126, s.dtype)
    return [multiply(multiply(factor, call("exp", multiply(negative(x), x))), s.grad)]


@gradient("clip")
def clip(s: GradientSite) -> list[Expr]:
    """1 inside the bounds, 0 outside."""
    (x,) = s.args
    lowest = call("broadcast_to_like", scalar_constant(s.attrs.a_min, s.dtype), x)
    highest = call("broadcast_to_like", scalar_constant(s.attrs.a_max, s.dtype), x)
    zeros = zeros_like(x)
    ones = ones_like(x)
    inside = call("where", call("less", highest, x), zeros, multiply(ones, s.grad))
    return [call("where", call("less", x, lowest), zeros, inside)]


@gradient("negative")
def minus(s: GradientSite) -> list[Expr]:
    """-1."""
    return [negative(s.grad)]


@gradient("copy")
def copy(s: GradientSite) -> list[Expr]:
    """1."""
    return [s.grad]


@gradient("cast")
def cast(s: GradientSite) -> list[Expr]:
    """The gradient in the argument's element type."""
    return [call("cast_like", s.grad, s.args[0])]


@gradient("cast_like")
def cast_like(s: GradientSite) -> list[Expr]:
    """The gradient in the argument's element type; the other argument only gives a type."""
    x, like = s.args
    return [call("cast_like", s.grad, x), zeros_like(like)]


@gradient("add")
def plus(s: GradientSite) -> list[Expr]:
    """1 and 1."""
    x, y = s.args
    return [sum_like(s.grad, x), sum_like(s.grad, y)]


@gradient("subtract")
def difference(s: GradientSite) -> list[Expr]:
    """1 and -1."""
    x, y = s.args
    return [sum_like(s.grad, x), sum_like(negative(s.grad), y)]


@gradient("multiply")
def times(s: GradientSite) -> list[Expr]:
    """∂(xy)/∂x = y, ∂(xy)/∂y = x."""
    x, y = s.args
    return [sum_like(multiply(s.grad, y), x), sum_like(multiply(s.grad, x), y)]


@gradient("divide")
def over(s: GradientSite) -> list[Expr]:
    """1 / y and -(x / y) / y."""
    x, y = s.args
    return [sum_like(divide(s.grad, y), x), sum_like(negative(divide(multiply(s.grad, s.out), y)), y)]


@gradient("where")
def where(s: GradientSite) -> list[Expr]:
    """The gradient goes to the side that was chosen."""
    condition, x, y = s.args
    zeros = zeros_like(s.grad)
    chosen = sum_like(call("where", condition, s.grad, zeros), x)
    other = sum_like(call("where", condition, zeros, s.grad), y)
    return [zeros_like(condition), chosen, other]


@gradient("less_equal", "not_equal")
def compare(s: GradientSite) -> list[Expr]:
    """Comparisons are flat."""
    return [zeros_like(a) for a in s.args]


@gradient("zeros", "ones")
def filled(s: GradientSite) -> list[Expr]:
    """No arguments, no gradients."""
    return []


@gradient("dyn.zeros", "dyn.ones")
def filled_dynamic(s: GradientSite) -> list[Expr]:
    """A shape has no gradient."""
    return [zeros_like(s.args[0])]


@gradient("zeros_like")
def zeros(s: GradientSite) -> list[Expr]:
    """0."""
    return [s.out]


@gradient("ones_like", "shape_of")
def ones(s: GradientSite) -> list[Expr]:
    """0."""
    return [zeros_like(s.args[0])]
