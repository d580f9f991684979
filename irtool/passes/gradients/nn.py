"""Gradients of layers: convolution, matrix products, pooling, losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...diagnostics import IrError
from ...ir import Expr, TensorType
from ...ops.base import call
from ...ops.nn.geometry import pad_amounts
from ...ops.nn.pool import spatial_axes
from ...ops.nn.pool_reference import window_counts
from ..core.arithmetic import divide, multiply, negative
from ..core.constants import array_constant, scalar_constant
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


def _dilation(s: GradientSite) -> tuple[int, ...]:
    """The dilation of a pool as its gradient takes it: empty, as TVM writes it, for windows without gaps."""
    return () if all(d == 1 for d in s.attrs.dilation) else s.attrs.dilation


def _require_one_layout(s: GradientSite) -> None:
    """Raises IrError for results in another layout, which the operators that compute gradients of pools do not have."""
    attrs = s.attrs
    if attrs.out_layout not in ("", attrs.layout):
        raise s.refuse(f"is defined for results of the data's layout, {attrs.layout}, not {attrs.out_layout}")


@gradient("nn.max_pool2d")
def max_pool2d(s: GradientSite) -> list[Expr]:
    """To the maximum of each window."""
    _require_one_layout(s)
    attrs = s.attrs
    return [
        call(
            "nn.max_pool2d_grad",
            s.grad,
            s.args[0],
            pool_size=attrs.pool_size,
            strides=attrs.strides,
            dilation=_dilation(s),
            padding=attrs.padding,
            layout=attrs.layout,
            ceil_mode=attrs.ceil_mode,
        )
    ]


@gradient("nn.avg_pool2d")
def avg_pool2d(s: GradientSite) -> list[Expr]:
    """Evenly over each window."""
    _require_one_layout(s)
    attrs = s.attrs
    return [
        call(
            "nn.avg_pool2d_grad",
            _by_counted_padding(s) if attrs.ceil_mode and attrs.count_include_pad else s.grad,
            s.args[0],
            pool_size=attrs.pool_size,
            strides=attrs.strides,
            dilation=_dilation(s),
            padding=attrs.padding,
            layout=attrs.layout,
            ceil_mode=attrs.ceil_mode,
            count_include_pad=attrs.count_include_pad,
        )
    ]


def _by_counted_padding(s: GradientSite) -> Expr:
    """The gradient, larger for windows that reach beyond the padding: elements beyond it do not count to the mean of the window,
    and `nn.avg_pool2d_grad` divides by the extents of the window."""
    import numpy as np

    attrs = s.attrs
    rank = len(s.shape())
    axes = spatial_axes(attrs.layout, "HW", rank)
    assert isinstance(s.type, TensorType)
    factor: np.ndarray = np.ones([1] * rank)
    pads = pad_amounts(attrs.padding, 2)
    for axis, kernel, stride, gap, pad in zip(axes, attrs.pool_size, attrs.strides, attrs.dilation, pads, strict=True):
        counts = window_counts(s.shape()[axis], kernel, stride, pad, gap, s.type.static_shape[axis], True)
        factor = factor * (kernel / counts).reshape([-1 if a == axis else 1 for a in range(rank)])
    return s.grad if (factor == 1).all() else multiply(s.grad, array_constant(factor, s.dtype))


@gradient("nn.global_avg_pool2d")
def global_avg_pool2d(s: GradientSite) -> list[Expr]:
    """Evenly over the image."""
    layout = s.attrs.layout
    if layout not in ("NCHW", "NHWC"):
        raise IrError(
            f"the gradient of nn.global_avg_pool2d is defined for NCHW and NHWC, not {layout}",
            s.out.span,
            code=NoGradient,
        )
    window = s.shape()[2:] if layout == "NCHW" else s.shape()[1:3]
    grad = call(
        "nn.avg_pool2d_grad",
        s.grad,
        s.args[0],
        pool_size=window,
        strides=[1, 1],
        dilation=(),
        padding=[0, 0],
        layout=layout,
    )
    return [grad]


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
