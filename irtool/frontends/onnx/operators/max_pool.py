"""Maxima over windows, where each was found, and the way back."""

from __future__ import annotations

import math

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import scalar
from ..memory_limit import counted, filled, require_room, require_shape
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..pools import pool, rounded_up
from ..sliding import NO_INTS, Windows, spatial_extents, spatial_rank
from ..tuples import concatenate
from ..value import Value


@onnx_operator("MaxPool")
class MaxPool(OnnxOperator):
    """The maximum of each window; and, since opset 8, its index among all elements of the data."""

    @since(1, 8, 10, 11, 12, 22, added={"ceil_mode": 10, "dilations": 10})
    def largest(
        self,
        x: Value,
        *,
        kernel_shape: tuple[int, ...],
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        dilations: tuple[int, ...] = NO_INTS,
        pads: tuple[int, ...] = NO_INTS,
        storage_order: int = 0,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        spatial_rank(x, "a pool")
        windows = Windows.of(kernel_shape, strides, pads, dilations, auto_pad)
        result = pool("max", x, windows, bool(ceil_mode))
        if not self.wants(1):
            return result
        return [result, indices(x, windows, bool(ceil_mode), bool(storage_order))]


def indices(x: Value, windows: Windows, ceil_mode: bool, by_column: bool) -> Value:
    """The position of the maximum of each window: its index in the full tensor, spatial axes in row-major or column-major order.

    Each window's elements are gathered by a table, so that the position of the largest among them is one in the table.
    """
    batch, channels, *extents = x.extents("the data of a pool that gives indices", least=3)
    padding = windows.padding(x, "the data of the pool")
    if ceil_mode:
        padding = rounded_up(x, windows, padding)
    table, out = _elements(extents, windows, padding)
    count = math.prod(extents)
    # What is beyond the data is one element more, which no other is less than.
    flat = x.call("reshape", newshape=[batch, channels, count])
    beyond = Value.constant(filled((batch, channels, 1), _least(x.dtype), "the border of a pool"), x.dtype)
    flat = concatenate([flat, beyond], 2)
    gathered = flat.call("take", Value.constant(table.astype("int32")), axis=2)
    tap = gathered.call("argmax", axis=[3]).call("cast", dtype="int32")
    rows = counted(table.shape[0], "the windows of a pool", "int32") * table.shape[1]
    tap = tap.call("add", Value.constant(rows))
    positions = _by_column(table, extents) if by_column else table
    maximum_indices = Value.constant(positions.ravel().astype("int64")).call("take", tap)
    starts = counted(batch * channels, "the channels of a pool").reshape(batch, channels, 1) * count
    return maximum_indices.call("add", Value.constant(starts)).call("reshape", newshape=[batch, channels, *out])


def _elements(extents: list[int], windows: Windows, padding: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """For each window the flat indices of its elements, the number of all elements for those beyond; and the windows an axis."""
    n = windows.rank
    out = tuple(
        (size + padding[i] + padding[n + i] - windows.reach[i]) // windows.strides[i] + 1
        for i, size in enumerate(extents)
    )
    what = "the indices of a pool"
    require_room((math.prod(max(n, 0) for n in out), *windows.kernel), what)
    flat = filled((1, 1), 0, what, "int64")
    inside = filled((1, 1), True, what, "bool")
    for i, size in enumerate(extents):
        starts = counted(max(out[i], 0), what) * windows.strides[i] - padding[i]
        positions = starts[:, None] + counted(windows.kernel[i], what) * windows.dilations[i]
        flat = (flat * size)[:, None, :, None] + positions[None, :, None, :]
        inside = inside[:, None, :, None] & ((positions >= 0) & (positions < size))[None, :, None, :]
        shape = (flat.shape[0] * flat.shape[1], flat.shape[2] * flat.shape[3])
        flat, inside = flat.reshape(shape), inside.reshape(shape)
    return np.where(inside, flat, math.prod(extents)), out


def _by_column(table: np.ndarray, extents: list[int]) -> np.ndarray:
    """The same elements counted with the first spatial axis running fastest."""
    count = math.prod(extents)
    order = np.append(
        np.ravel_multi_index(np.unravel_index(counted(count, "the indices of a pool"), extents)[::-1], extents[::-1]),
        count,
    )
    return order[table]


def _least(dtype: str) -> float:
    return -np.inf if np.dtype(dtype).kind == "f" else int(np.iinfo(dtype).min)


@onnx_operator("MaxUnpool")
class MaxUnpool(OnnxOperator):
    """Elements put back to where their indices say, zeros elsewhere.

    The indices count in the result, of which `output_shape` is the shape where it is given. ONNX's text has them in the tensor that was
    pooled, whose size `output_shape` tells where several are possible, and pads are ignored then; ONNX Runtime and PyTorch do so,
    too. A node test of ONNX counts them in the smallest of these tensors instead. Without it the shape is that from which windows of
    these pads and strides were taken.
    """

    @since(9, 11, 22)
    def back(
        self,
        x: Value,
        i: Value,
        output_shape: Value | None = None,
        *,
        kernel_shape: tuple[int, ...],
        pads: tuple[int, ...] = NO_INTS,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        windows = Windows.of(kernel_shape, strides, pads)
        windows.require_fit(x, "the data of MaxUnpool")
        n = windows.rank
        extents = spatial_extents(x, "the data of MaxUnpool")
        inner = tuple(
            (size - 1) * windows.strides[k] - windows.pads[k] - windows.pads[n + k] + windows.kernel[k]
            for k, size in enumerate(extents)
        )
        outer = x.extents("the data of MaxUnpool")[:2]
        shape = output_shape.ints("the output_shape of MaxUnpool") if output_shape is not None else (*outer, *inner)
        if len(shape) != n + 2 or min(shape) < 0 or shape[:2] != outer:
            raise IrError(f"the result of MaxUnpool would have the shape {list(shape)}", code=DamagedModel)
        require_shape(shape, "the result of MaxUnpool")
        zeros = scalar(0, x.dtype).call("full", shape=[math.prod(shape)], dtype=x.dtype)
        flat = zeros.call("scatter", i.call("reshape", newshape=[-1]), x.call("reshape", newshape=[-1]), axis=0)
        return flat.call("reshape", newshape=list(shape))
