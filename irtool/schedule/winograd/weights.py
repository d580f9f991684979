"""Weights of convolutions, transformed when the program is built."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .cook_toom import transforms
from .tiling import sizes

_COLUMNS = 1024
"""Columns of a product: what is in double precision stays in the cache, and the product is too small for threads, which would
wait for each other longer than it takes."""


def transform_weights(
    data: Any,
    order: Sequence[int],
    size: int,
    windows: tuple[tuple[int, int], tuple[int, int]],
    filters: int,
    steps: range,
) -> Any:
    """`G w G^T` of every pair of channels, computed in double precision.

    `windows`: taps and strides. `data`: a row-major array whose axes `order` are filters, taps along depth, channels, rows if there are, and columns. The result has the shape
    (blocks of `filters`, products, steps, `filters`), where steps are channels of taps; those in `steps` are taken.
    """
    import numpy as np

    taps, strides = windows
    down, across = (
        np.array(transforms(m, n, s).weights, dtype="float64") for m, n, s in zip(sizes(size, taps), taps, strides)
    )
    both = np.kron(down, across)
    w = np.transpose(np.asarray(data), order)
    count, within = w.shape[0], prod(taps)
    w = w.reshape(count, -1, within)[:, steps.start : steps.stop]
    blocks = w.reshape(count // filters, filters, len(steps), within).transpose(0, 3, 2, 1)
    transformed = np.empty((count // filters, len(both), len(steps), filters), "float32")
    step = max(1, _COLUMNS // filters)
    for block, out in zip(blocks, transformed):
        for at in range(0, len(steps), step):
            part = block[:, at : at + step]
            columns = both @ part.reshape(len(part), -1).astype("float64")
            out[:, at : at + step] = columns.reshape(len(both), -1, filters)
    return transformed
