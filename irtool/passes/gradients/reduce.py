"""Gradients of reductions: the gradient is spread over the reduced axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod

from ...ir import Expr
from ...ops.base import call, is_call_to
from ..core.arithmetic import divide, multiply, negative, subtract
from ..core.constants import scalar_constant
from .rule import GradientSite, gradient, sum_like, zeros_like


def _axes(s: GradientSite) -> list[int] | None:
    """The axes that the call reduces, ascending; None for all of them."""
    return list(s.attrs.removed(len(s.shape()))) if s.attrs.axis else None


def _expand(e: Expr, axes: Sequence[int]) -> Expr:
    for axis in axes:
        e = call("expand_dims", e, axis=axis)
    return e


def _total(e: Expr, axis: Sequence[int] | None, keepdims: bool = False, exclude: bool = False) -> Expr:
    return call("sum", e, axis=axis, keepdims=keepdims, exclude=exclude)


@gradient("sum")
def total(s: GradientSite) -> list[Expr]:
    """1 for each element."""
    axes, grad = _axes(s), s.grad
    if not s.attrs.keepdims:
        grad = _expand(grad, range(len(s.shape())) if axes is None else axes)
    return [call("broadcast_to_like", grad, s.args[0])]


def _quotient(a: float, b: int) -> float:
    """`a / b`, infinite where `b` is 0: of no elements, or in the unbiased variance of one."""
    return a / b if b else math.copysign(math.inf, a)


@gradient("mean")
def mean(s: GradientSite) -> list[Expr]:
    """1 / n for each of n elements."""
    axes = _axes(s)
    axes = list(range(len(s.shape()))) if axes is None else axes
    grad = s.grad if s.attrs.keepdims else _expand(s.grad, axes)
    factor = _quotient(1.0, prod(s.shape()[a] for a in axes))
    return [call("broadcast_to_like", multiply(grad, scalar_constant(factor, s.dtype)), s.args[0])]


@gradient("variance")
def variance(s: GradientSite) -> list[Expr]:
    """2 (x - m) / n, and its negated sum; 2 x / n and -2 m where `m` is the mean of `x`.

    The second form is TVM's. Its terms differ from those of the first by what the gradient of the mean takes back to `x`.
    """
    data, center = s.args
    axes = _axes(s)
    axes = list(range(len(s.shape()))) if axes is None else axes
    grad = s.grad if s.attrs.keepdims else _expand(s.grad, axes)
    count = prod(s.shape()[a] for a in axes)
    of_mean = -2.0
    if s.attrs.unbiased:
        of_mean = _quotient(of_mean * count, count - 1)
        count -= 1
    if not _is_own_mean(s):
        scaled = multiply(grad, scalar_constant(_quotient(2.0, count), s.dtype))
        moved = multiply(scaled, subtract(data, center))
        return [moved, sum_like(negative(moved), center)]
    of_data = multiply(multiply(grad, scalar_constant(_quotient(2.0, count), s.dtype)), data)
    return [of_data, multiply(multiply(scalar_constant(of_mean, s.dtype), grad), center)]


def _is_own_mean(s: GradientSite) -> bool:
    """True if the program says that the second argument is the mean of the first over the same axes."""
    if len(s.sources) < 2:
        return False
    data, center = s.sources
    if not is_call_to(center, "mean") or center.args[0] is not data or not center.attrs.keepdims:
        return False
    rank = len(s.shape())
    return bool(center.attrs.removed(rank) == s.attrs.removed(rank))


@gradient("max", "min")
def extreme(s: GradientSite) -> list[Expr]:
    """Shared evenly between the elements that are the largest, or smallest."""
    (x,) = s.args
    axes, grad, spread = _axes(s), s.grad, s.out
    if axes == []:  # all axes are excluded; `sum` takes no axes for all of them
        return [grad]
    largest: Expr = spread
    if axes is None and s.attrs.keepdims:
        largest = call("broadcast_to_like", spread, x)
    elif axes is None:
        largest = call("full_like", x, spread)
    else:
        if not s.attrs.keepdims:
            largest, grad = _expand(spread, axes), _expand(grad, axes)
        for a in axes:
            largest = call("repeat", largest, repeats=s.shape()[a], axis=a)
    hits = call("cast_like", call("equal", largest, x), grad)
    count = _total(hits, axes, keepdims=True)
    return [divide(multiply(hits, grad), count)]


@gradient("nn.softmax")
def softmax(s: GradientSite) -> list[Expr]:
    """(g - Σ g y) y for y = softmax x."""
    inner = _total(multiply(s.grad, s.out), [s.attrs.axis], keepdims=True)
    return [multiply(subtract(s.grad, inner), s.out)]


@gradient("nn.log_softmax")
def log_softmax(s: GradientSite) -> list[Expr]:
    """g - Σ g · exp y for y = log_softmax x."""
    inner = _total(s.grad, [s.attrs.axis], keepdims=True)
    return [subtract(s.grad, multiply(inner, call("exp", s.out)))]


@gradient("collapse_sum_like", "collapse_sum_to")
def collapse(s: GradientSite) -> list[Expr]:
    """Broadcast back; the other argument only gives a shape."""
    x, like = s.args
    return [call("broadcast_to_like", s.grad, x), zeros_like(like)]
