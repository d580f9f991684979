"""The adjoint of a linear map along one axis whose weights are known: `y[i] = Σ w[i, j] x[j]`.

Resizing and pooling by numbers of windows are such maps. Blocks become sums, copies become slices, and anything else is a product with
the matrix, which kernels of products make fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import multiply
from ..core.constants import array_constant, scalar_constant
from ..core.reshaping import reshape_to
from .axis_map import copied_along_axis, padded_along_axis


def transposed_along_axis(grad: Expr, shape: Sequence[int], dtype: str, axis: int, weights: np.ndarray) -> Expr:
    """The gradient of `x` for that of `y`, of `shape`; `weights` has a row for each element of `y` along `axis`."""
    rows, columns = weights.shape
    result = (*shape[:axis], columns, *shape[axis + 1 :])
    if 0 in result or 0 in shape:
        return call("zeros", shape=result, dtype=dtype)
    if rows == columns and (weights == np.eye(rows)).all():
        return grad
    return (
        _spread(grad, shape, dtype, axis, weights)
        or _summed_blocks(grad, shape, dtype, axis, weights)
        or _copies(grad, shape, dtype, axis, weights)
        or _product(grad, shape, dtype, axis, weights)
    )


def _scaled(e: Expr, factor: float, dtype: str) -> Expr:
    return e if factor == 1 else multiply(e, scalar_constant(factor, dtype))


def _spread(grad: Expr, shape: Sequence[int], dtype: str, axis: int, weights: np.ndarray) -> Expr | None:
    """Copies of each element, for disjoint windows of one size and weight that cover the axis."""
    rows, columns = weights.shape
    size, rest = divmod(columns, rows)
    factor = float(weights[0, 0])
    if rest or not (weights == np.kron(np.eye(rows), np.full((1, size), factor))).all():
        return None
    return _scaled(call("repeat", grad, repeats=size, axis=axis), factor, dtype)


def _summed_blocks(grad: Expr, shape: Sequence[int], dtype: str, axis: int, weights: np.ndarray) -> Expr | None:
    """Sums of neighbours, for elements that were repeated."""
    rows, columns = weights.shape
    size, rest = divmod(rows, columns)
    factor = float(weights[0, 0])
    if rest or not (weights == np.kron(np.eye(columns), np.full((size, 1), factor))).all():
        return None
    cut = reshape_to(grad, (*shape[:axis], columns, size, *shape[axis + 1 :]))
    return _scaled(call("sum", cut, axis=(axis + 1,), keepdims=False), factor, dtype)


def _copies(grad: Expr, shape: Sequence[int], dtype: str, axis: int, weights: np.ndarray) -> Expr | None:
    """Slices, for elements that were copied; for every n-th element, the gradient with gaps."""
    columns = weights.shape[1]
    if ((weights != 0).sum(1) != 1).any() or not np.isin(weights, (0.0, 1.0)).all():
        return None
    sources = weights.argmax(1)
    steps = np.diff(sources)
    if len(steps) and steps[0] > 1 and (steps == steps[0]).all():
        strides = tuple(int(steps[0]) if a == axis else 1 for a in range(len(shape)))
        apart = call("nn.dilate", grad, strides=strides)
        return padded_along_axis(apart, len(shape), dtype, axis, int(sources[0]), columns - 1 - int(sources[-1]))
    return copied_along_axis(grad, shape, dtype, axis, sources.tolist(), columns)


def _product(grad: Expr, shape: Sequence[int], dtype: str, axis: int, weights: np.ndarray) -> Expr:
    """A product with the matrix from the right for the last axis, and from the left for another."""
    rows, columns = weights.shape
    outer, inner = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
    result = (*shape[:axis], columns, *shape[axis + 1 :])
    if inner == 1:
        flat = reshape_to(grad, (outer, rows))
        product = call("nn.dense", flat, array_constant(np.ascontiguousarray(weights.T), dtype), units=columns)
    else:
        flat = reshape_to(grad, (outer, rows, inner))
        left = array_constant(np.ascontiguousarray(weights.T)[None], dtype)
        product = call("nn.batch_matmul", left, flat, transpose_a=False, transpose_b=False)
    return reshape_to(product, result)
