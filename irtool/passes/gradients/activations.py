"""Gradients of activations, and of the approximations that take the place of exact functions."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import add, multiply, negative, subtract
from ..core.axes import expand_to_axis
from ..core.constants import scalar_constant
from .rule import GradientSite, gradient, ones_like, zeros_like


@gradient("nn.leaky_relu")
def leaky_relu(s: GradientSite) -> list[Expr]:
    """1 where x > 0, alpha elsewhere."""
    (x,) = s.args
    below = multiply(s.grad, scalar_constant(s.attrs.alpha, s.dtype))
    return [call("where", call("greater", x, zeros_like(x)), s.grad, below)]


@gradient("nn.prelu")
def prelu(s: GradientSite) -> list[Expr]:
    """1 where x > 0, the channel's slope elsewhere; of a slope, the sum of its channel's x that are not positive."""
    x, alpha = s.args
    rank = len(s.shape())
    axis = s.attrs.axis % rank
    zeros = zeros_like(x)
    positive = call("greater", x, zeros)
    below = multiply(s.grad, expand_to_axis(alpha, rank, [axis]))
    missed = call("where", positive, zeros, multiply(s.grad, x))
    of_slopes = call("sum", missed, axis=[axis], keepdims=False, exclude=True) if rank > 1 else missed
    return [call("where", positive, s.grad, below), of_slopes]


@gradient("hardswish")
def hardswish(s: GradientSite) -> list[Expr]:
    """0 up to -3, 1 from 3 on, and x / 3 + ½ between them."""
    (x,) = s.args
    half, third, three = (scalar_constant(v, s.dtype) for v in (0.5, 1 / 3, 3.0))
    between = multiply(s.grad, add(multiply(x, third), half))
    below = call("where", call("less_equal", x, negative(three)), zeros_like(x), between)
    return [call("where", call("greater_equal", x, three), s.grad, below)]


@gradient("nn.fast_softmax")
def softmax(s: GradientSite) -> list[Expr]:
    """(g - Σ g y) y, as of the exact function."""
    inner = call("sum", multiply(s.grad, s.out), axis=(s.attrs.axis,), keepdims=True)
    return [multiply(subtract(s.grad, inner), s.out)]


@gradient("fast_exp")
def exp(s: GradientSite) -> list[Expr]:
    """The value itself, as of the exact function."""
    return [multiply(s.grad, s.out)]


@gradient("fast_tanh")
def tanh(s: GradientSite) -> list[Expr]:
    """1 - y²."""
    return [multiply(s.grad, subtract(ones_like(s.out), multiply(s.out, s.out)))]


@gradient("fast_erf")
def erf(s: GradientSite) -> list[Expr]:
    """2/√π · exp(-x²)."""
    (x,) = s.args
    factor = scalar_constant(1.1283791670955126, s.dtype)
    return [multiply(multiply(factor, call("fast_exp", multiply(negative(x), x))), s.grad)]
