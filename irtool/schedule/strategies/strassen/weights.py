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

    quarters_of = _quarters(data, order)
    filters, channels, taps = quarters_of[0].shape
    sums = np.empty((filters // columns, len(WEIGHTS), taps * channels, columns), "float32")
    for p, signs in enumerate(WEIGHTS):
        first, *others = [(int(s), q) for s, q in zip(signs, quarters_of) if s]
        total = first[1] if first[0] > 0 else -first[1]
        for s, q in others:
            total = total + q if s > 0 else total - q
        sums[:, p] = _in_blocks(total, columns)
    return sums


def quarters(data: Any, order: Sequence[int], columns: int) -> Any:
    """The quarters of a matrix, in the order in which `WEIGHTS` adds them up.

    `data` and `order` are those of `add_quarters`. The result has the shape (blocks of `columns` in each half of the filters, quarters,
    elements): those of a quarter of a block lie as in the result of `add_quarters`.
    """
    import numpy as np

    parts = [_in_blocks(q, columns) for q in _quarters(data, order)]
    return np.stack([q.reshape(len(q), -1) for q in parts], axis=1)


def _quarters(data: Any, order: Sequence[int]) -> list[Any]:
    """The quarters, each (filters, channels, all other axes)."""
    w = _ordered(data, order)
    filters, channels = w.shape[0] // 2, w.shape[1] // 2
    upper, lower = w[:, :channels], w[:, channels:]
    return [upper[:filters], upper[filters:], lower[:filters], lower[filters:]]


def _in_blocks(w: Any, columns: int) -> Any:
    """(filters, channels, taps) ⇒ (blocks, taps and channels, columns)"""
    filters, channels, taps = w.shape
    lying = w.reshape(-1, columns, channels, taps).transpose(0, 3, 2, 1)
    return lying.reshape(filters // columns, -1, columns)


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
