"""The shapes of expressions, where they are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir import Expr, TensorType
from ...symbolic_int import estimate


def extents_of(e: Expr) -> tuple[int, ...] | None:
    """The shape of a tensor, where all its extents are numbers; None for anything else."""
    t = e.checked_type
    return t.extents if isinstance(t, TensorType) else None


def known_extents(e: Expr) -> tuple[int, ...]:
    """The shape of a tensor of which all extents are known to be numbers."""
    extents = extents_of(e)
    assert extents is not None
    return extents


@estimate
def is_smaller(shape: Sequence[int], other: Sequence[int], times: int = 1) -> bool:
    """True if a tensor of a shape has fewer than `times` the elements of another one, at the greatest lengths that a run may have.

    For choices that cost time only: of two lengths, one run may have more in the first, another in the second.
    """
    return math.prod(shape) < times * math.prod(other)
