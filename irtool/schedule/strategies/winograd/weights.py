"""Weights of convolutions, transformed by the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...cost.machine import CACHE_WAY, FLOAT32_BYTES
from .cook_toom import transforms
from .tiling import sizes


@dataclass(frozen=True)
class WindowShape:
    """Windows by rows and columns: `taps` of each of their `parts`, and the distances of neighbouring windows."""

    taps: tuple[int, int]
    strides: tuple[int, int]
    parts: tuple[int, int]


def transform_weights(
    data: Any, order: Sequence[int], size: int, windows: WindowShape, filters: int, steps: range
) -> Any:
    """`G w G^T` of every pair of channels, computed in double precision.

    `data`: a row-major array whose axes `order` are filters, taps along depth, channels, rows if there are, and columns. The result has
    the shape (blocks of `filters`, products, steps, `filters`), where steps are channels of parts of windows of taps along depth; those
    in `steps` are taken.
    """
    import numpy as np

    taps = windows.taps
    down, across = (
        np.array(transforms(m, n, s).weights, dtype="float64")
        for m, n, s in zip(sizes(size, taps), taps, windows.strides)
    )
    both = np.kron(down, across)
    w = _in_parts(np.transpose(np.asarray(data), order), windows)
    count, within = w.shape[0], prod(taps)
    w = w.reshape(count, -1, within)[:, steps.start : steps.stop]
    blocks = w.reshape(count // filters, filters, len(steps), within).transpose(0, 3, 2, 1)
    transformed = np.empty((count // filters, len(both), len(steps), filters), "float32")
    step = max(1, CACHE_WAY // FLOAT32_BYTES // filters)
    for block, out in zip(blocks, transformed):
        for begin in range(0, len(steps), step):
            part = block[:, begin : begin + step]
            columns = both @ part.reshape(len(part), -1).astype("float64")
            out[:, begin : begin + step] = columns.reshape(len(both), -1, filters)
    return transformed


def _in_parts(w: Any, windows: WindowShape) -> Any:
    """Weights with parts of windows before channels, padded with zeros.

    (filters, taps along depth, channels, rows if there are, columns) become (filters, taps along depth, parts by rows, by
    columns, channels, rows, columns).
    """
    import numpy as np

    if windows.parts == (1, 1):
        return w
    (rows, columns), (below, across) = windows.taps, windows.parts
    height = w.shape[-2] if rows > 1 else 1
    channels = w.shape[-3 if rows > 1 else -2]
    w = w.reshape(w.shape[0], -1, channels, height, w.shape[-1])
    missing = [(0, 0), (0, 0), (0, 0), (0, below * rows - height), (0, across * columns - w.shape[-1])]
    w = np.pad(w, missing).reshape(*w.shape[:3], below, rows, across, columns)
    return w.transpose(0, 1, 3, 5, 2, 4, 6)
