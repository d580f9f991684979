"""Weights of convolutions, transformed when the program is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tir.stmt import Layout
from .cook_toom import transforms


def transform_weights(data: Any, order: Sequence[int], size: int, filters: int) -> Any:
    """`G w G^T` of every pair of channels, computed in double precision.

    `data`: a row-major array whose axes `order` are filters, channels, rows and columns. The result has the shape (blocks of
    `filters`, products, channels, `filters`).
    """
    import numpy as np

    g = np.array(transforms(size).weights, dtype="float64")
    w = np.transpose(np.asarray(data), order).astype("float64")
    made = np.einsum("ya,kcab,xb->yxck", g, w, g, optimize=True)
    count, channels = w.shape[:2]
    blocks = made.reshape(len(g) ** 2, channels, count // filters, filters).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(blocks.astype("float32"))


def unpack(data: Any, layout: Layout | None) -> Any:
    """A row-major array of elements that lie in the order of a layout (of the same shape, so as flat memory)."""
    import numpy as np

    if layout is None:
        return data
    axes = sorted((axis, -divisor, n) for n, (axis, divisor, _) in enumerate(layout))
    lying = np.asarray(data).reshape([extent for _, _, extent in layout])
    return np.ascontiguousarray(lying.transpose([n for _, _, n in axes])).reshape(data.shape)
