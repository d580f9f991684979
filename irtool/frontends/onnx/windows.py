"""Padding of windows, from attributes of ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import IrError
from .counts import require_counts
from .mistakes import DamagedModel


def window_padding(
    auto_pad: str,
    pads: Sequence[int],
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """The padding before each axis, then behind each. Raises IrError for an unknown `auto_pad`."""
    rank = len(kernel)
    require_counts(kernel, rank, "kernel_shape", 1)
    require_counts(strides, rank, "strides", 1)
    require_counts(dilations, rank, "dilations", 1)
    if auto_pad in ("NOTSET", ""):
        result = list(pads) or [0] * (2 * rank)
        require_counts(result, 2 * rank, "pads", 0)
        return result
    if auto_pad == "VALID":
        return [0] * (2 * rank)
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise IrError(f"auto_pad is {auto_pad}, not NOTSET, VALID, SAME_UPPER or SAME_LOWER", code=DamagedModel)
    before, behind = [], []
    for extent, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
        total = max((-(-extent // s) - 1) * s + (k - 1) * d + 1 - extent, 0)
        less, more = total // 2, total - total // 2
        before.append(less if auto_pad == "SAME_UPPER" else more)
        behind.append(more if auto_pad == "SAME_UPPER" else less)
    return before + behind
