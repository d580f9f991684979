"""Gradients of running sums and products, and of products over an axis."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import divide, multiply
from ..core.constants import scalar_constant
from .axis_map import padded_along_axis
from .rule import GradientSite, gradient, ones_like, zeros_like


def _along_rows(s: GradientSite) -> tuple[Expr, Expr, int]:
    """The data in the dtype of the result, the gradient, and the axis along which both run, the only one of flattened data."""
    (x,) = s.args
    if s.result_dtype != s.dtype:
        x = call("cast", x, dtype=s.result_dtype)
    if s.attrs.axis is None:
        return call("reshape", x, newshape=(-1,)), s.grad, 0
    return x, s.grad, s.attrs.axis % len(s.shape())


def _back(s: GradientSite, grad: Expr) -> list[Expr]:
    (x,) = s.args
    grad = call("reshape_like", grad, x) if s.attrs.axis is None else grad
    return [call("cast_like", grad, x) if s.result_dtype != s.dtype else grad]


def _sum_from(e: Expr, axis: int, exclusive: bool = False) -> Expr:
    """The sum of all elements from each one on, or of those behind it."""
    total = call("cumsum", call("reverse", e, axis=axis), axis=axis, exclusive=exclusive)
    return call("reverse", total, axis=axis)


@gradient("cumsum")
def cumsum(s: GradientSite) -> list[Expr]:
    """The sum of the gradients from each element on."""
    _, grad, axis = _along_rows(s)
    return _back(s, _sum_from(grad, axis, bool(s.attrs.exclusive)))


@gradient("cumprod")
def cumprod(s: GradientSite) -> list[Expr]:
    """Σ g y / x from each element on.

    A zero makes all products from there on zero: elements before it are not divided by it, the first one gets the sum of the
    products without it, and those behind it get nothing.
    """
    x, grad, axis = _along_rows(s)
    shape = s.result_shape
    if s.attrs.exclusive:  # the products that include the elements, one place later
        cut = padded_along_axis(grad, len(shape), s.result_dtype, axis, -min(1, shape[axis]), min(1, shape[axis]))
        grad = cut
    zero = zeros_like(x)
    is_zero = call("equal", x, zero)
    zeros_so_far = call("cumsum", call("cast", is_zero, dtype="int32"), axis=axis)
    none_yet = call("equal", zeros_so_far, scalar_constant(0, "int32"))
    is_first = call("logical_and", is_zero, call("equal", zeros_so_far, scalar_constant(1, "int32")))
    nonzero = call("where", is_first, ones_like(x), x)
    weighted = multiply(grad, call("cumprod", nonzero, axis=axis))
    before = divide(_sum_from(call("where", none_yet, weighted, zero), axis), call("where", is_zero, ones_like(x), x))
    here = call("where", is_first, _sum_from(weighted, axis), zero)
    return _back(s, call("where", none_yet, before, here))


@gradient("prod")
def prod(s: GradientSite) -> list[Expr]:
    """The product of all other elements.

    It is the product divided by the element where no element is zero; where one is, it has the product of the others, and they
    have nothing.
    """
    (x,) = s.args
    axes = s.attrs.removed(len(s.shape()))
    if not axes:
        return [s.grad]
    grad = s.grad
    if not s.attrs.keepdims:
        for axis in axes:
            grad = call("expand_dims", grad, axis=axis)
    zero = zeros_like(x)
    is_zero = call("equal", x, zero)
    nonzero = call("where", is_zero, ones_like(x), x)
    product = multiply(grad, call("prod", nonzero, axis=axes, keepdims=True))
    zeros = call("sum", call("cast", is_zero, dtype="int32"), axis=axes, keepdims=True)
    of_zeros = call("where", call("equal", zeros, scalar_constant(1, "int32")), product, zeros_like(product))
    of_others = call("where", call("equal", zeros, scalar_constant(0, "int32")), product, zeros_like(product))
    return [call("where", is_zero, call("broadcast_to_like", of_zeros, x), divide(of_others, nonzero))]
