"""Grouped attention by its definition, one query after the other, in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

HEADS, GROUPS, SIZE = 4, 2, 8


@dataclass(frozen=True)
class Scores:
    """What becomes of the products of queries and keys.

    Attributes:
        window: the keys that a query sees at most, its own among them; 0 for no limit.
        cap: the bound of scores; 0 for none.
        sink: the score of a key without a value, for each head.
        is_causal: True if a query sees no key behind its own.
        bias: added to the scores, `(length, keys)`.
    """

    window: int = 0
    cap: float = 0.0
    sink: np.ndarray | None = None
    is_causal: bool = True
    bias: np.ndarray | None = None


def split(x: np.ndarray, heads: int) -> np.ndarray:
    """`(N, length, heads * size)` as `(N, heads, length, size)`."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attended(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray, scores: Scores = Scores(), scale: float = 0.0
) -> np.ndarray:
    """The result `(N, length, heads * size)` of queries of that shape over keys and values `(N, groups, places, size)`.

    `lengths` are the numbers of keys of each line, those of the queries being the last ones.
    """
    queries = split(q, HEADS)
    batch, _, length, size = queries.shape
    result = np.zeros((batch, length, HEADS, size))
    for b, h, i in np.ndindex(batch, HEADS, length):
        last = max(lengths[b] - length, 0) + i if scores.is_causal else lengths[b] - 1
        first = max(0, last - scores.window + 1) if scores.window else 0
        head = h * GROUPS // HEADS
        products = k[b, head, first : last + 1].astype("float64") @ queries[b, h, i] * (scale or 1 / math.sqrt(size))
        if scores.cap:
            products = scores.cap * np.tanh(products / scores.cap)
        if scores.bias is not None:
            products = products + scores.bias[i, first : last + 1]
        weights = np.exp(products)
        more = 0 if scores.sink is None else np.exp(scores.sink[h])
        result[b, i, h] = weights / (weights.sum() + more) @ v[b, head, first : last + 1]
    return result.reshape(batch, length, HEADS * size)


def cached(past: np.ndarray, new: np.ndarray, lengths: np.ndarray, places: int) -> np.ndarray:
    """The cache of so many places with the new keys, or values, of each line behind those that it has."""
    length = new.shape[2]
    result = np.zeros((*past.shape[:2], places, past.shape[3]), past.dtype)
    for b, all_keys in enumerate(lengths):
        before = max(all_keys - length, 0)
        result[b, :, :before] = past[b, :, :before]
        result[b, :, before : before + length] = new[b]
    return result


def rotated(x: np.ndarray, angles: np.ndarray, first: int) -> np.ndarray:
    """`(N, heads, length, size)` with the halves of each head rotated by the angles of its place, which count from `first`."""
    rows = angles[first : first + x.shape[2]]
    a, b = np.split(x, 2, axis=3)
    return np.concatenate([a * np.cos(rows) - b * np.sin(rows), b * np.cos(rows) + a * np.sin(rows)], 3)
