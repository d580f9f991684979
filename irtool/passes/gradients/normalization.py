"""Gradients of normalizations.

Each is taken through the normalized values, whose sums with the gradient are of the gradient's size: no difference of large numbers
stands for a small one. Values and deviations are written as SimplifyInference writes them, so that builds compute them once for
both directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, TupleGetItem
from ...ops.base import call
from ...tir.dtypes import accumulator_dtype
from ..core.arithmetic import add, divide, multiply, subtract
from ..core.axes import expand_to_axis
from ..core.constants import scalar_constant
from ..core.reshaping import reshape_to
from .axis_map import along_axis, padded_along_axis
from .rule import GradientSite, gradient, zeros_like


def _widened(s: GradientSite, *values: Expr) -> tuple[str, list[Expr]]:
    """The dtype that the operator computes in, and values in it."""
    wide = accumulator_dtype(s.dtype)
    return wide, [v if wide == s.dtype else call("cast", v, dtype=wide) for v in values]


def _narrowed(s: GradientSite, *gradients: Expr) -> list[Expr]:
    """Gradients in the dtype of the arguments."""
    return [g if accumulator_dtype(s.dtype) == s.dtype else call("cast", g, dtype=s.dtype) for g in gradients]


def _mean(e: Expr, axes: Sequence[int]) -> Expr:
    return call("mean", e, axis=tuple(axes), keepdims=True, exclude=False)


def _total(e: Expr, axis: int, rank: int) -> Expr:
    """The sum for each place along `axis`."""
    return call("sum", e, axis=(axis,), keepdims=False, exclude=True) if rank > 1 else e


@gradient("nn.layer_norm", "nn.instance_norm", "nn.group_norm")
def norm(s: GradientSite) -> list[Expr]:
    """(g - mean g - y mean(g y)) / d, means over the axes that were normalized, and the sums of g y and of g for scale and shift.

    y are the normalized values, and d is their deviation.
    """
    a, shape = s.attrs, s.shape()
    rank = len(shape)
    axis = a.axis % rank
    wide, (x, gamma, beta, grad) = _widened(s, *s.args, s.grad)
    axes: tuple[int, ...] = tuple(a.averaged(rank, axis))
    if not axes or 0 in shape:  # each element is its own mean
        return [
            zeros_like(s.args[0]),
            zeros_like(s.args[1]),
            *_narrowed(s, _total(grad, axis, rank) if a.center else zeros_like(beta)),
        ]
    grouped = shape
    if a.groups() > 1 or s.attrs.name == "nn.group_norm":
        grouped = (*shape[:axis], a.groups(), shape[axis] // a.groups(), *shape[axis + 1 :])
        axes = tuple(range(axis + 1, rank + 1))
    elif s.attrs.name == "nn.layer_norm":
        axes = (a.axis,)
    data = x if grouped == shape else reshape_to(x, grouped)
    mean = _mean(data, axes)
    variance = call("variance", data, mean, axis=axes, keepdims=True, exclude=False, unbiased=False)
    deviation = call("sqrt", add(variance, scalar_constant(a.epsilon, wide)))
    normal = divide(subtract(data, mean), deviation)
    scaled = multiply(grad, expand_to_axis(gamma, rank, [axis])) if a.scale else grad
    scaled = scaled if grouped == shape else reshape_to(scaled, grouped)
    rest = multiply(normal, _mean(multiply(scaled, normal), axes))
    of_data = divide(subtract(subtract(scaled, _mean(scaled, axes)), rest), deviation)
    of_data, out = (e if grouped == shape else reshape_to(e, shape) for e in (of_data, normal))
    of_gamma = _total(multiply(grad, out), axis, rank) if a.scale else zeros_like(gamma)
    of_beta = _total(grad, axis, rank) if a.center else zeros_like(beta)
    return _narrowed(s, of_data, of_gamma, of_beta)


@gradient("nn.batch_norm")
def batch_norm(s: GradientSite) -> list[Expr]:
    """Each by its channel: scale · g / d for the data, and sums of g y, g, -scale · g / d and -½ scale · g y / d² for the rest.

    y are the normalized values, and d is their deviation.

    The mean and the variance are results as well, and have the gradients of those.
    """
    a, shape = s.attrs, s.shape()
    rank = len(shape)
    axis = a.axis % rank
    wide, (x, gamma, beta, mean, variance, grad, of_mean, of_variance) = _widened(
        s, *s.args, *(TupleGetItem(s.grad, i) for i in range(3))
    )
    deviation = call("sqrt", add(variance, scalar_constant(a.epsilon, wide)))
    inverse = divide(scalar_constant(1.0, wide), deviation)
    scale = multiply(inverse, gamma) if a.scale else inverse
    total = _total(grad, axis, rank)
    centred = subtract(x, expand_to_axis(mean, rank, [axis]))
    slope = multiply(_total(multiply(grad, centred), axis, rank), inverse)
    half = multiply(multiply(slope, scalar_constant(-0.5, wide)), multiply(scale, inverse))
    return _narrowed(
        s,
        multiply(grad, expand_to_axis(scale, rank, [axis])),
        slope if a.scale else zeros_like(gamma),
        total if a.center else zeros_like(beta),
        subtract(of_mean, multiply(scale, total)),
        add(of_variance, half),
    )


@gradient("nn.l2_normalize")
def l2_normalize(s: GradientSite) -> list[Expr]:
    """(g - y Σ g y) / |x|; g / √eps where the length is less than that."""
    axes = tuple(s.attrs.axis) or None
    wide, (x, grad) = _widened(s, s.args[0], s.grad)
    squares = call("sum", multiply(x, x), axis=axes, keepdims=True)
    least = scalar_constant(s.attrs.eps, wide)
    length = call("sqrt", call("maximum", squares, least))
    out = divide(x, length)
    inner = call("sum", multiply(grad, out), axis=axes, keepdims=True)
    moved = call("where", call("greater", squares, least), inner, zeros_like(inner))
    return _narrowed(s, divide(subtract(grad, multiply(out, moved)), length))


@gradient("nn.lrn")
def lrn(s: GradientSite) -> list[Expr]:
    """g / base^beta, less x times the sum over the neighbours of 2 alpha beta / size · g x / base^(beta + 1)."""
    a, shape = s.attrs, s.shape()
    axis = a.axis % len(shape)
    reach = min(a.size // 2, shape[axis])
    wide, (x, grad) = _widened(s, s.args[0], s.grad)

    def neighbours(e: Expr) -> Expr:
        whole = padded_along_axis(e, len(shape), wide, axis, reach, reach)
        total = along_axis(whole, axis, 0, shape[axis])
        for first in range(1, 2 * reach + 1):
            total = add(total, along_axis(whole, axis, first, first + shape[axis]))
        return total

    alpha, bias, beta = (scalar_constant(v, wide) for v in (a.alpha / a.size, a.bias, a.beta))
    base = add(bias, multiply(alpha, neighbours(multiply(x, x))))
    share = divide(grad, call("power", base, beta))
    factor = scalar_constant(-2.0 * a.alpha * a.beta / a.size, wide)
    rest = multiply(multiply(factor, x), neighbours(divide(multiply(share, x), base)))
    return _narrowed(s, add(share, rest))


@gradient("nn.dropout")
def dropout(s: GradientSite) -> list[Expr]:
    """1 where an element is kept, as the mask says; the mask itself has no slope."""
    mask = TupleGetItem(s.out, 1)
    return [multiply(TupleGetItem(s.grad, 0), mask)]
