"""Sums of quarters of weights, computed by the build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .algorithm import MUCH_LARGER, WEIGHTS


def add_quarters(data: Any, order: Sequence[int], columns: int) -> Any:
    """The seven sums of a matrix's quarters.

    `data`: a row-major array whose axes `order` are filters, channels and the other axes of the sum. The result has the shape (blocks
    of `columns` in each half of the filters, products, steps of half the sum, `columns`): the other axes first, then channels.
    """
    import numpy as np

    w = _ordered(data, order)
    filters, channels = w.shape[0] // 2, w.shape[1] // 2
    upper, lower = w[:, :channels], w[:, channels:]
    quarters = [upper[:filters], upper[filters:], lower[:filters], lower[filters:]]
    sums = np.empty((filters // columns, len(WEIGHTS), w.shape[2] * channels, columns), "float32")
    for p, signs in enumerate(WEIGHTS):
        first, *others = [(int(s), q) for s, q in zip(signs, quarters) if s]
        total = first[1] if first[0] > 0 else -first[1]
        for s, q in others:
            total = total + q if s > 0 else total - q
        # (filters, channels, taps) ⇒ (blocks, taps, channels, columns)
        lying = total.reshape(-1, columns, channels, w.shape[2]).transpose(0, 3, 2, 1)
        sums[:, p] = lying.reshape(len(sums), -1, columns)
    return sums


def are_even(data: Any, order: Sequence[int]) -> bool:
    """True if no filter, and no channel, is much larger than the one in the other half that is added to it.

    `data` and `order` are those of `add_quarters`. A filter of zeros would have results near zero, not zeros; and elements of the
    data with small weights are multiplied by those of the other channel, too.
    """
    import numpy as np

    sizes = np.abs(_ordered(data, order)).sum(axis=2, dtype="float64")
    pairs = [np.split(sizes.sum(axis=axis), 2) for axis in (1, 0)]
    return all(bool((np.maximum(*pair) <= MUCH_LARGER * np.minimum(*pair)).all()) for pair in pairs)


def _ordered(data: Any, order: Sequence[int]) -> Any:
    """The array as (filters, channels, all other axes)."""
    import numpy as np

    w = np.transpose(np.asarray(data), [*order, *(n for n in range(data.ndim) if n not in order)])
    return w.reshape(w.shape[0], w.shape[1], -1)
