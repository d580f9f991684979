"""Overlap of boxes."""

from __future__ import annotations

from typing import Any

from ... import te
from ...deferred import np


def overlap(box: Any, others: Any) -> Any:
    """Intersection over union of one box with each of `others` (n, 4); corners may come in any order."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows, highs = np.minimum(others[:, :2], others[:, 2:]), np.maximum(others[:, :2], others[:, 2:])
    zero = others.dtype.type(0)
    w, h = np.maximum(zero, np.minimum(high, highs) - np.maximum(low, lows)).T
    both = h * w
    union = (high[0] - low[0]) * (high[1] - low[1]) + (highs[:, 0] - lows[:, 0]) * (highs[:, 1] - lows[:, 1]) - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)


def overlap_of(ib: Any, mine: Any, other: Any) -> Any:
    """`overlap` as an expression; `mine(k)` and `other(k)` give coordinate k of a box."""
    corners = []
    for box in (mine, other):
        low = [ib.let(te.min2(box(k), box(k + 2))) for k in range(2)]
        high = [ib.let(te.max2(box(k), box(k + 2))) for k in range(2)]
        corners.append((low, high))
    (low, high), (lows, highs) = corners
    zero = te.const(0, low[0].dtype)
    w, h = (te.max2(zero, te.min2(high[k], highs[k]) - te.max2(low[k], lows[k])) for k in range(2))
    both = ib.let(h * w)
    areas = [(b[0] - a[0]) * (b[1] - a[1]) for a, b in corners]
    union = ib.let(areas[0] + areas[1] - both)
    return te.if_then_else(union > zero, both / union, zero)
