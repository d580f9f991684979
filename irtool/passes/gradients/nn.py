"""Gradients of layers: convolution, matrix products, pooling, losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...diagnostics import IrError
from ...ir import Expr, TensorType
from ...ops.base import call
from ..core.arithmetic import divide, multiply, negative
from ..core.constants import scalar_constant
from ..core.mistakes import NoGradient
from ..core.reshaping import reshape_to
from .rule import GradientSite, gradient, sum_like


@gradient("nn.bias_add")
def bias_add(s: GradientSite) -> list[Expr]:
    """1, and the sum over every axis but the bias's."""
    total = call("sum", s.grad, axis=[s.attrs.axis], keepdims=False, exclude=True)
    return [sum_like(s.grad, s.args[0]), total]


def _flip(e: Expr) -> Expr:
    return call("transpose", e, axes=None)


def _require_one_dtype(s: GradientSite) -> None:
    """Raises IrError if the result is of another dtype than the arguments: gradients go back through it."""
    dtypes = {t.dtype for t in (*s.types, s.type) if isinstance(t, TensorType)}
    if len(dtypes) > 1:
        names = ", ".join(sorted(dtypes))
        raise IrError(
            f"the gradient of {s.attrs.name} is defined for one data type, not {names}", s.out.span, code=NoGradient
        )


def _rows(e: Expr, shape: Sequence[int], width: int) -> Expr:
    """A tensor whose last axis is `width` long as a matrix of such rows."""
    if width:
        return call("reshape", e, newshape=[-1, width])
    return reshape_to(e, (math.prod(shape[:-1]), 0))  # how many they are, no number of elements tells


@gradient("nn.dense")
def dense(s: GradientSite) -> list[Expr]:
    """g w and gᵀ x; all axes before the last are rows."""
    _require_one_dtype(s)
    data, weight = s.args
    units, width = s.shape(1)
    rows, grad_rows = data, s.grad
    if len(s.shape(0)) != 2:
        rows, grad_rows = (_rows(e, t, n) for e, t, n in ((data, s.shape(0), width), (s.grad, s.shape(0), units)))
    of_data = call("nn.dense", s.grad, _flip(weight), units=width)
    of_weight = call("nn.dense", _flip(grad_rows), _flip(rows), units=width)
    return [sum_like(of_data, data), sum_like(of_weight, weight)]


@gradient("nn.matmul")
def matmul(s: GradientSite) -> list[Expr]:
    """g bᵀ and aᵀ g, with the factors transposed as in the call."""
    a, b = s.args
    flips = (s.attrs.transpose_a, s.attrs.transpose_b)
    if flips == (False, True):
        return list(dense(s))
    _require_one_dtype(s)
    grad = s.grad
    if len(s.shape(0)) != 2:
        return _product_of_rows(s, *flips)

    def product(x: Expr, y: Expr, flip_x: bool, flip_y: bool) -> Expr:
        # TVM writes a product whose second factor alone is transposed as a dense layer.
        if (flip_x, flip_y) == (False, True):
            return call("nn.dense", x, y, units=None)
        return call("nn.matmul", x, y, units=None, transpose_a=flip_x, transpose_b=flip_y)

    if flips == (True, True):
        parts = product(b, grad, True, True), product(grad, a, True, True)
    elif flips == (True, False):
        parts = product(b, grad, False, True), product(a, grad, False, False)
    else:
        parts = product(grad, b, False, True), product(a, grad, True, False)
    return [sum_like(parts[0], a), sum_like(parts[1], b)]


def _product_of_rows(s: GradientSite, flip_a: bool, flip_b: bool) -> list[Expr]:
    """The gradients of a product whose first factor has another rank than 2: its other axes are rows."""
    a, b = s.args
    rank = len(s.shape(0))
    swap = [*range(rank - 2), rank - 1, rank - 2]
    rows = call("transpose", a, axes=swap) if flip_a else a
    assert isinstance(s.type, TensorType)
    shape = s.type.static_shape[:-1]
    depth, columns = reversed(s.shape(1)) if flip_b else s.shape(1)
    of_rows = call("nn.matmul", s.grad, b, units=None, transpose_a=False, transpose_b=not flip_b)
    of_a = call("transpose", of_rows, axes=swap) if flip_a else of_rows
    flat_rows, flat_grad = _rows(rows, (*shape, depth), depth), _rows(s.grad, (*shape, columns), columns)
    left, right = (flat_grad, flat_rows) if flip_b else (flat_rows, flat_grad)
    return [of_a, call("nn.matmul", left, right, units=None, transpose_a=True, transpose_b=False)]


@gradient("nn.batch_matmul")
def batch_matmul(s: GradientSite) -> list[Expr]:
    """The gradients of a matrix product, for each matrix of the batch."""
    _require_one_dtype(s)
    a, b = s.args
    grad = s.grad

    def product(x: Expr, y: Expr, flip_x: bool, flip_y: bool) -> Expr:
        return call("nn.batch_matmul", x, y, transpose_a=flip_x, transpose_b=flip_y)

    def swapped(e: Expr) -> Expr:
        return call("transpose", e, axes=[0, 2, 1])

    flips = (s.attrs.transpose_a, s.attrs.transpose_b)
    if flips == (True, True):
        parts = product(b, grad, True, True), product(grad, a, True, True)
    elif flips == (True, False):
        parts = product(b, grad, False, True), product(a, grad, False, False)
    elif flips == (False, True):
        parts = product(grad, swapped(b), False, True), product(swapped(grad), swapped(a), False, True)
    else:
        parts = product(grad, b, False, True), product(a, grad, True, False)
    return [sum_like(parts[0], a), sum_like(parts[1], b)]


def _per_image(s: GradientSite) -> Expr:
    batch = call("take", call("shape_of", s.args[0], dtype="int32"), scalar_constant(0, "int32"), axis=0)
    return divide(s.grad, call("cast", batch, dtype=s.dtype))


@gradient("nn.cross_entropy")
def cross_entropy(s: GradientSite) -> list[Expr]:
    """-y / x and -log x, over the size of the batch."""
    x, y = s.args
    grad = _per_image(s)
    return [divide(multiply(negative(grad), y), x), multiply(negative(grad), call("log", x))]


@gradient("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(s: GradientSite) -> list[Expr]:
    """-y and -x, over the size of the batch."""
    x, y = s.args
    grad = _per_image(s)
    return [multiply(negative(grad), y), multiply(negative(grad), x)]
