"""Cosines and sines of whole parts of a turn, exactly 0 where they are: an infinite sample times 1e-16 would be infinite."""

from __future__ import annotations

import math
from typing import Any

from .. import te
from ..deferred import np


def waves(steps: np.ndarray, extent: int) -> tuple[np.ndarray, np.ndarray]:
    """The cosine and the sine of `2 pi steps / extent`, in double precision."""
    steps = np.asarray(steps, np.int64) % max(extent, 1)
    angles = 2 * math.pi * steps / max(extent, 1)
    cosine = np.where((4 * steps == extent) | (4 * steps == 3 * extent), 0.0, np.cos(angles))
    return cosine, np.where((2 * steps == extent) | (steps == 0), 0.0, np.sin(angles))


def wave_expressions(steps: Any, extent: int, dtype: str) -> tuple[Any, Any]:
    """`waves` as tensor expressions; `steps` is an int64 expression. The angle stays small, and so does its rounding."""
    steps = te.floormod(steps, te.const(max(extent, 1), "int64"))
    angle = te.cast(steps, dtype) * te.const(2 * math.pi / max(extent, 1), dtype)
    zero = te.const(0, dtype)
    level = te.any((steps * 4).equal(extent), (steps * 4).equal(3 * extent))
    return te.select(level, zero, te.cos(angle)), te.select(
        te.any((steps * 2).equal(extent), steps.equal(0)), zero, te.sin(angle)
    )
