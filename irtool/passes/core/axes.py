"""Bringing a one-axis tensor (a bias, a scale) to the rank of the tensor that it is combined with."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, TensorType
from ...ops.base import call


def expand_to_axis(bias: Expr, rank: int, axes: Sequence[int]) -> Expr:
    """`bias`, whose dimensions are `axes` of a tensor of that rank, with dimensions of 1 added so that it broadcasts.

    For a bias of shape `(C,)`, rank 4 and axis 1 that is `expand_dims(bias, axis=1, num_newaxis=2)`: `(C, 1, 1)`.
    """
    for i in range(len(axes), 0, -1):
        missing = rank - axes[i - 1] - 1 if i == len(axes) else axes[i] - axes[i - 1]
        if missing > 0:
            bias = call("expand_dims", bias, axis=i, num_newaxis=missing)
    return bias


def broadcasts_on_axes(left: TensorType, right: TensorType, axes: Sequence[int]) -> list[int] | None:
    """The axes of `right` to squeeze so that it varies on exactly `axes` of `left`, with their full extents.

    Returns the axes of `right` that are 1 and would be squeezed away to leave only the matched ones; None if it does not
    match.
    """
    if len(left.shape) < len(right.shape):
        return None
    base = len(left.shape) - len(right.shape)
    squeezed: list[int] = []
    position = 0
    for i, extent in enumerate(left.shape):
        if position < len(axes) and i == axes[position]:
            if i < base or extent != right.shape[i - base]:
                return None
            position += 1
        elif i >= base:
            if right.shape[i - base] != 1:
                return None
            squeezed.append(i - base)
    return squeezed


def squeeze(e: Expr, axes: Sequence[int]) -> Expr:
    """`e` without these dimensions of 1; `e` itself if no axes are given."""
    return call("squeeze", e, axis=tuple(axes)) if axes else e
