"""Constants whose zeros the file leaves out."""

from __future__ import annotations

import math
import struct
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from .model import Tensor

_MOST_ELEMENTS = 1 << 26
"""Elements of a constant that is written out."""


def dense_array(tensor: Tensor) -> tuple[np.ndarray, str]:
    """All elements of a sparse constant, and their type. Raises IrError for one that is damaged or too large."""
    if tensor.dtype not in ("float32", "float16", "int8") or tensor.data is None:
        raise IrError(f"the sparse constant {tensor.name} is of {tensor.dtype}", code=UnsupportedNode)
    if math.prod(tensor.shape) > _MOST_ELEMENTS:
        raise IrError(f"the sparse constant {tensor.name} has the shape {tensor.shape}", code=UnsupportedNode)
    try:
        return _dense(tensor), tensor.dtype
    except (IndexError, ValueError, TypeError, AttributeError, struct.error) as error:
        raise IrError(f"the sparse constant {tensor.name} is damaged: {error}", code=DamagedModel) from None


def _dense(tensor: Tensor) -> np.ndarray:
    """The levels of storage are axes in another order, blocks behind them; each is whole, or has a list of its elements."""
    s = tensor.sparsity
    order = [int(s.TraversalOrder(i)) for i in range(s.TraversalOrderLength())]
    blocks = [int(s.BlockMap(i)) for i in range(s.BlockMapLength())]
    rank = len(tensor.shape)
    levels = [s.DimMetadata(i) for i in range(s.DimMetadataLength())]
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise ValueError("its axes are no permutation")
    assert tensor.data is not None
    stored = np.frombuffer(tensor.data, tensor.dtype)
    sizes = {a: int(m.DenseSize()) for a, m in zip(order, levels, strict=True) if m.Format() == 0}
    block_of = {axis: sizes[rank + i] for i, axis in enumerate(blocks)}
    # The places of stored elements, level by level: one row for each, a column for each level.
    places = np.zeros((1, 0), np.int64)
    parents = np.zeros(1, np.int64)
    for level in levels:
        if level.Format() == 0:
            n = int(level.DenseSize())
            if n < 0 or n * len(places) > _MOST_ELEMENTS:
                raise ValueError("it has more elements than its shape")
            index = np.tile(np.arange(n), len(places))
            parents = np.repeat(parents, n) * n + index
            places = np.column_stack([np.repeat(places, n, axis=0), index])
            continue
        segments, indices = (
            _vector(level.ArraySegments(), level.ArraySegmentsType()),
            _vector(level.ArrayIndices(), level.ArrayIndicesType()),
        )
        starts, ends = segments[parents], segments[parents + 1]
        if (starts > ends).any() or (ends > len(indices)).any() or (ends - starts).sum() > _MOST_ELEMENTS:
            raise ValueError("its segments do not ascend")
        rows = np.repeat(np.arange(len(places)), ends - starts)
        parents = np.concatenate(
            [np.arange(a, b) for a, b in zip(starts, ends, strict=True)] or [np.zeros(0, np.int64)]
        )
        places = np.column_stack([places[rows], indices[parents]])
    by_axis = {axis: places[:, k] for k, axis in enumerate(order)}
    place = []
    for axis in range(rank):
        size = block_of.get(axis)
        inner = by_axis[rank + blocks.index(axis)] if size is not None else 0
        place.append(by_axis[axis] * (size or 1) + inner)
    dense = np.zeros(tensor.shape, tensor.dtype)
    dense[tuple(place)] = stored[: len(places)]
    return dense


def _vector(table: Any, kind: int) -> np.ndarray:
    """A list of integers of 32, 16 or 8 bits."""
    from .package import tflite_package

    package = tflite_package()
    cls = {1: package.Int32Vector, 2: package.Uint16Vector, 3: package.Uint8Vector}[kind]
    vector = cls()
    vector.Init(table.Bytes, table.Pos)
    return np.asarray(vector.ValuesAsNumpy()).astype(np.int64)
