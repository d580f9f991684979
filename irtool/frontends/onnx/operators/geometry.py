"""Determinants, and grids of affine maps."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ..memory_limit import counted, require_steps, spread
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


def _entries(x: Value, rows: tuple[int, int], columns: tuple[int, int]) -> Value:
    """A part of each matrix, by (begin, end) of its rows and columns."""
    begin, end = zip(rows, columns, strict=True)
    axes = [x.rank - 2, x.rank - 1]
    return x.call("strided_slice", begin=list(begin), end=list(end), strides=[1, 1], axes=axes)


@onnx_operator("Det")
class Det(OnnxOperator):
    """The determinant of each matrix, by elimination; each column's largest entry is the pivot."""

    @since(11, 22)
    def eliminate(self, x: Value) -> Result:
        extents = x.extents("the matrices of Det")
        if x.rank < 2 or extents[-1] != extents[-2]:
            raise IrError(f"{x.tensor} holds no square matrices", code=DamagedModel)
        require_steps(extents[-1], "the elimination of a matrix")
        zero, one = (Value.constant(n, x.dtype) for n in (0, 1))
        determinant = one.call("full", shape=[*extents[:-2], 1, 1], dtype=x.dtype)
        for size in range(extents[-1], 1, -1):
            column = _entries(x, (0, size), (0, 1))
            place = column.call("abs").call("argmax", axis=[x.rank - 2], keepdims=True)
            chosen = Value.constant(counted(size, "the rows of a matrix").reshape(size, 1), place.dtype).call(
                "equal", place
            )
            top = _entries(x, (0, 1), (0, size))
            row = apply("where", chosen, x, zero).call("sum", axis=[x.rank - 2], keepdims=True)
            pivot = _entries(row, (0, 1), (0, 1))
            swapped = place.call("not_equal", Value.constant(0, place.dtype))
            determinant = determinant.call("multiply", apply("where", swapped, pivot.call("negative"), pivot))
            rest = _entries(apply("where", chosen, top, x), (1, size), (0, size))
            divisor = apply("where", pivot.call("equal", zero), one, pivot)
            factors = _entries(rest, (0, size - 1), (0, 1)).call("divide", divisor)
            rest = _entries(rest, (0, size - 1), (1, size))
            x = rest.call("subtract", factors.call("multiply", _entries(row, (0, 1), (1, size))))
        if extents[-1]:
            determinant = determinant.call("multiply", x)
        return determinant.call("squeeze", axis=[x.rank - 2, x.rank - 1])


@onnx_operator("AffineGrid")
class AffineGrid(OnnxOperator):
    """The images of pixels under an affine map: coordinates from -1 to 1, the last axis (x, y) or (x, y, z)."""

    @since(20)
    def positions(self, theta: Value, size: Value, *, align_corners: int = 0) -> Result:
        extents = size.ints("the size of AffineGrid")[2:]
        axes = len(extents)
        if axes not in (2, 3) or theta.shape[1:] != (axes, axes + 1):
            raise IrError(f"{theta.tensor} is no map of an image of {axes} axes", code=DamagedModel)
        wide = theta.call("expand_dims", axis=1, num_newaxis=axes)  # (batch, 1, …, 1, axes, axes + 1)
        columns = [
            wide.call("take", Value.constant(np.int64(i)), axis=wide.rank - 1) for i in range(axes + 1)
        ]  # (batch, 1, …, 1, axes)
        result = columns[-1]
        for i, extent in enumerate(reversed(extents)):
            along = (2 * counted(extent, "an axis of the grid") + 1) / extent - 1
            if align_corners:
                along = spread(-1, 1, extent, "an axis of the grid")
            shape = [1] * (axes + 2)
            shape[axes - i] = extent
            steps = Value.constant(along.reshape(shape), theta.dtype)
            result = result.call("add", columns[i].call("multiply", steps))
        return result
