"""Weights of convolutions, transformed when the program is built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...tir.stmt import Layout
from .cook_toom import transforms

_COLUMNS = 1024
"""Columns of a product: what is in double precision stays in the cache, and the product is too small for threads, which would
wait for each other longer than it takes."""


def transform_weights(data: Any, order: Sequence[int], size: int, filters: int) -> Any:
    """`G w G^T` of every pair of channels, computed in double precision.

    `data`: a row-major array whose axes `order` are filters, channels, rows and columns. The result has the shape (blocks of
    `filters`, products, channels, `filters`).
    """
    import numpy as np

    g = np.array(transforms(size).weights, dtype="float64")
    both = np.kron(g, g)
    w = np.transpose(np.asarray(data), order)
    count, channels, *window = w.shape
    blocks = w.reshape(count // filters, filters, channels, math.prod(window)).transpose(0, 3, 2, 1)
    transformed = np.empty((count // filters, len(both), channels, filters), "float32")
    step = max(1, _COLUMNS // filters)
    for block, out in zip(blocks, transformed):
        for at in range(0, channels, step):
            part = block[:, at : at + step]
            columns = both @ part.reshape(len(part), -1).astype("float64")
            out[:, at : at + step] = columns.reshape(len(both), -1, filters)
    return transformed


def unpack(data: Any, layout: Layout | None) -> Any:
    """A row-major array of elements that lie in the order of a layout (of the same shape, so as flat memory)."""
    import numpy as np

    if layout is None:
        return data
    axes = sorted((axis, -divisor, n) for n, (axis, divisor, _) in enumerate(layout))
    lying = np.asarray(data).reshape([extent for _, _, extent in layout])
    return np.ascontiguousarray(lying.transpose([n for _, _, n in axes])).reshape(data.shape)
