"""The adjoint of a copy along one axis whose sources are known: `y[i] = x[source[i]]`.

Borders that are mirrored or repeated, slices and their reverses are such copies. Their sources are few runs of equal steps, and
each run is a slice, so that the gradient is a sum of slices: no loop with indices in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Expr
from ...ops.base import call
from ..core.arithmetic import add
from ..core.constants import scalar_constant, tensor_constant


@dataclass(frozen=True)
class _Run:
    """Positions `first` … `first + count - 1`, whose sources start at `source` and are `step` apart."""

    first: int
    count: int
    source: int
    step: int


def _runs(sources: Sequence[int]) -> list[_Run]:
    """Sources as runs of steps of -1, 0 or 1."""
    runs: list[_Run] = []
    i = 0
    while i < len(sources):
        count, step = 1, 1
        if i + 1 < len(sources) and abs(sources[i + 1] - sources[i]) <= 1:
            step = sources[i + 1] - sources[i]
            while i + count < len(sources) and sources[i + count] - sources[i + count - 1] == step:
                count += 1
        runs.append(_Run(i, count, sources[i], step))
        i += count
    return runs


MOST_RUNS = 16
"""More runs are added up by a scatter: a slice for each would be a program as long as the axis."""


def copied_along_axis(
    grad: Expr, shape: Sequence[int], dtype: str, axis: int, sources: Sequence[int], extent: int
) -> Expr:
    """The gradient of `x`, of `extent` elements along `axis`, for the gradient of `y[i] = x[source[i]]`.

    `shape` is the shape of `grad`, and `dtype` its element type.
    """
    if list(sources) == list(range(extent)):
        return grad
    runs = _runs(sources)
    result = [*shape[:axis], extent, *shape[axis + 1 :]]
    if not runs or not all(result):
        return call("zeros", shape=tuple(result), dtype=dtype)
    if len(runs) > MOST_RUNS:
        return scattered_along_axis(grad, shape, dtype, axis, tensor_constant([list(sources)], "int32"), extent)
    total: Expr | None = None
    for run in runs:
        piece = along_axis(grad, axis, run.first, run.first + run.count)
        low, length = run.source, run.count
        if run.step == 0:
            piece, length = call("sum", piece, axis=(axis,), keepdims=True), 1
        elif run.step < 0:
            piece, low = call("reverse", piece, axis=axis), run.source - run.count + 1
        piece = padded_along_axis(piece, len(shape), dtype, axis, low, extent - low - length)
        total = piece if total is None else add(total, piece)
    assert total is not None
    return total


def scattered_along_axis(grad: Expr, shape: Sequence[int], dtype: str, axis: int, positions: Expr, extent: int) -> Expr:
    """`grad`, of `shape`, added up along an axis: element i goes to place `positions[0, i]` of `extent`, or nowhere."""
    rank = len(shape)
    order = [axis, *range(axis), *range(axis + 1, rank)]
    front = call("transpose", grad, axes=tuple(order)) if axis else grad
    zeros = call("zeros", shape=(extent, *shape[:axis], *shape[axis + 1 :]), dtype=dtype)
    total = call("scatter_nd", zeros, positions, front, mode="add")
    return call("transpose", total, axes=(*range(1, axis + 1), 0, *range(axis + 1, rank))) if axis else total


def along_axis(e: Expr, axis: int, begin: int, end: int, stride: int = 1) -> Expr:
    """Every `stride`-th element from `begin` up to, without it, `end` along an axis."""
    return call("strided_slice", e, begin=(begin,), end=(end,), strides=(stride,), slice_mode="end", axes=(axis,))


def padded(e: Expr, dtype: str, widths: Sequence[tuple[int, int]]) -> Expr:
    """`e` with zeros before and after each axis; a negative width cuts. `e` itself where all widths are 0."""
    if not any(map(any, widths)):
        return e
    return call("nn.pad", e, scalar_constant(0, dtype), pad_width=tuple(widths), pad_mode="constant")


def padded_along_axis(e: Expr, rank: int, dtype: str, axis: int, before: int, after: int) -> Expr:
    """`e` with zeros before and after one axis; a negative width cuts."""
    return padded(e, dtype, [(before, after) if a == axis else (0, 0) for a in range(rank)])
