"""Winograd convolutions as tensor expressions. `winograd_transform` has the matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from ... import te
from ...deferred import np
from ...tir.dtypes import accumulator_dtype
from ..layout import Layout
from .conv_expression import padded_data, result
from .winograd_transform import matrices


def entry(matrix: np.ndarray, row: Any, column: Any, dtype: str) -> Any:
    """The entry of a constant matrix at indices that are expressions: a chain of choices, zeros last."""
    result: Any = te.const(0, dtype)
    for i, j in product(*map(range, matrix.shape)):
        if matrix[i, j]:
            result = te.select(te.all(row.equal(i), column.equal(j)), te.const(float(matrix[i, j]), dtype), result)
    return result


def transformed_weights(w: Any, out_type: Any, tile: int, transformed: Sequence[bool]) -> Any:
    """Weights `(O, I, kernel…)` times `G` along the transformed axes.

    The transformed axes come first in the result, then the other axes of the kernel, then `O` and `I`.
    """
    wide = accumulator_dtype(w.dtype)
    rank = len(transformed)
    order = [*[i for i in range(rank) if transformed[i]], *[i for i in range(rank) if not transformed[i]]]

    def element(*i: Any) -> Any:
        front, (o, c) = i[:rank], i[rank:]
        indices: list[Any] = [None] * rank
        factor: Any = te.const(1, wide)
        over = []
        for place, axis in zip(front, order, strict=True):
            if not transformed[axis]:
                indices[axis] = place
                continue
            k = w.shape[2 + axis]
            indices[axis] = te.reduce_axis(k, name=f"k{axis}")
            over.append(indices[axis])
            factor = factor * entry(matrices(tile, k)[2], place, indices[axis], wide)
        return te.sum(factor * te.cast(w[(o, c, *indices)], wide), axis=over)

    total = te.compute(out_type.shape, element, name="winograd_weights", tag="winograd_weights")
    if wide == out_type.dtype:
        return total
    return te.compute(out_type.shape, lambda *i: te.cast(total[i], out_type.dtype), name="narrow", tag="elemwise")


def winograd_convolution(
    data: Any,
    weight: Any,
    out_type: Any,
    *,
    form: str,
    data_layout: Layout,
    out_layout: Layout,
    pads: Sequence[tuple[int, int]],
    kernel: Sequence[int],
    tile: int,
    transformed: Sequence[bool],
) -> Any:
    """A convolution of stride 1 with weights as `transformed_weights` makes them.

    Data is transformed by tiles that overlap, multiplied with the weights for each transformed place, summed over the
    channels, and transformed back.
    """
    rank = len(kernel)
    moved = [i for i in range(rank) if transformed[i]]
    stays = [i for i in range(rank) if not transformed[i]]
    sizes = [data.shape[data_layout.index(letter)] for letter in form[2:]]
    out = [n + a + b - k + 1 for n, (a, b), k in zip(sizes, pads, kernel, strict=True)]
    tiles = [-(-o // tile) if transformed[i] else o for i, o in enumerate(out)]
    fitted = [
        (a, tiles[i] * tile + kernel[i] - 1 - n - a) if transformed[i] else (a, b)
        for i, (n, (a, b)) in enumerate(zip(sizes, pads, strict=True))
    ]
    x = padded_data(data, data_layout, form, fitted)
    batch, channels = x.shape[:2]
    outputs = weight.shape[-2]
    wide = accumulator_dtype(out_type.dtype)
    alphas = [tile + kernel[i] - 1 for i in moved]
    positions = [tiles[i] if transformed[i] else x.shape[2 + i] for i in range(rank)]

    def scatter(*i: Any) -> Any:
        e, (c, n), p = i[: len(moved)], i[len(moved) : len(moved) + 2], i[len(moved) + 2 :]
        indices: list[Any] = list(p)
        factor: Any = te.const(1, wide)
        over = []
        for place, axis, alpha in zip(e, moved, alphas, strict=True):
            a = te.reduce_axis(alpha, name=f"a{axis}")
            over.append(a)
            indices[axis] = p[axis] * tile + a
            factor = factor * entry(matrices(tile, kernel[axis])[1], a, place, wide)
        return te.sum(factor * te.cast(x[(n, c, *indices)], wide), axis=over)

    seen = te.compute((*alphas, channels, batch, *positions), scatter, name="winograd_data", tag="winograd_data")

    def multiply(*i: Any) -> Any:
        e, (o, n), p = i[: len(moved)], i[len(moved) : len(moved) + 2], i[len(moved) + 2 :]
        c = te.reduce_axis(channels, name="rc")
        taps = [te.reduce_axis(kernel[axis], name=f"k{axis}") for axis in stays]
        indices = list(p)
        for axis, k in zip(stays, taps, strict=True):
            indices[axis] = p[axis] + k
        factor = te.cast(weight[(*e, *taps, o, c)], wide)
        return te.sum(factor * seen[(*e, c, n, *indices)], axis=[c, *taps])

    products = te.compute((*alphas, outputs, batch, *tiles), multiply, name="winograd_product", tag="winograd_product")

    def element(n: Any, o: Any, *p: Any) -> Any:
        indices = list(p)
        factor: Any = te.const(1, wide)
        over = []
        for axis, alpha in zip(moved, alphas, strict=True):
            e = te.reduce_axis(alpha, name=f"e{axis}")
            over.append(e)
            indices[axis] = te.floordiv(p[axis], tile)
            factor = factor * entry(matrices(tile, kernel[axis])[0], e, te.floormod(p[axis], tile), wide)
        return te.sum(factor * products[(*over, o, n, *indices)], axis=over)

    return result(out_type, out_layout, form, element, "winograd_result", {"tile": tile})
