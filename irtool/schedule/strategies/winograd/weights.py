"""Weights of convolutions, transformed by the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ....tir.expansion import expand
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
    matrix = transform_matrix(size, windows)
    transformed = expand(plain_weights(data, order, windows, filters, steps), matrix)
    return transformed.reshape(len(transformed), len(matrix), len(steps), filters)


def transform_matrix(size: int, windows: WindowShape) -> tuple[tuple[float, ...], ...]:
    """The matrix that transforms the elements of a window, a column for each, to the factors of its products."""
    import numpy as np

    down, across = (
        np.array(transforms(m, n, s).weights, dtype="float64")
        for m, n, s in zip(sizes(size, windows.taps), windows.taps, windows.strides)
    )
    return tuple(map(tuple, np.kron(down, across).tolist()))


def plain_weights(data: Any, order: Sequence[int], windows: WindowShape, filters: int, steps: range) -> Any:
    """The elements of windows before they are transformed, in the order of transformed ones: (blocks of `filters`, elements of a window,
    steps and `filters`).

    The arguments are those of `transform_weights`.
    """
    import numpy as np

    within = prod(windows.taps)
    w = _in_parts(np.transpose(np.asarray(data), order), windows)
    count = w.shape[0]
    w = w.reshape(count, -1, within)[:, steps.start : steps.stop]
    blocks = w.reshape(count // filters, filters, len(steps), within).transpose(0, 3, 2, 1)
    return np.ascontiguousarray(blocks, dtype="float32").reshape(len(blocks), within, -1)


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
