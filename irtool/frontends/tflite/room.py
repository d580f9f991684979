"""Limits of arrays that are made while a model is read: a damaged file may have any number as an extent."""

from __future__ import annotations

import math

from ...diagnostics import IrError
from ..onnx.mistakes import UnsupportedNode

MOST_ELEMENTS = 1 << 22
"""Elements of such an array."""


def require_room(*extents: int, what: str) -> None:
    """Raises IrError unless an array of these extents may be made; `what` names it in the message."""
    if any(d < 0 for d in extents) or math.prod(max(d, 1) for d in extents) > MOST_ELEMENTS:
        shown = "×".join(map(str, extents))
        raise IrError(f"{what} would be an array of {shown} elements", code=UnsupportedNode)
