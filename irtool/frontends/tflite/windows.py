"""Padding of windows, as TensorFlow computes it."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import IrError
from ..onnx.mistakes import DamagedModel

SAME, VALID = 0, 1
"""The kinds of padding, in the order of the schema."""


def padding_of(
    kind: int, extents: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """The elements in front of each axis, then those behind. Raises IrError for a window that does not fit, and for a stride below 1."""
    before, after = [], []
    for n, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
        if min(k, s, d) < 1:
            raise IrError(f"windows of {k} elements with stride {s} and dilation {d}", code=DamagedModel)
        span = (k - 1) * d + 1
        if kind == VALID:
            if span > n:
                raise IrError(f"a window of {span} elements does not fit into {n}", code=DamagedModel)
            before.append(0)
            after.append(0)
            continue
        total = max((-(-n // s) - 1) * s + span - n, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return [*before, *after]
