"""The shapes of expressions, where they are known."""

from __future__ import annotations

from ...ir import Expr, TensorType


def extents_of(e: Expr) -> tuple[int, ...] | None:
    """The shape of a tensor, where all its extents are numbers; None for anything else."""
    t = e.checked_type
    return t.extents if isinstance(t, TensorType) else None


def known_extents(e: Expr) -> tuple[int, ...]:
    """The shape of a tensor of which all extents are known to be numbers."""
    extents = extents_of(e)
    assert extents is not None
    return extents
