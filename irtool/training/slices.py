"""Gradients of slices in training, as padded tensors.

Padding fuses with the sums around it. `Gradient` has TVM's forms, `strided_set` and, for `take`, a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Expr
from ..ops.base import call
from ..passes.core.constants import single_value
from ..passes.gradients.axis_map import padded, padded_along_axis
from ..passes.gradients.rule import GradientSite, find_rule, zeros_like


def strided_slice(s: GradientSite) -> Sequence[Expr]:
    """The gradient of a slice of neighbouring elements; others have their registered rule."""
    shape = s.shape()
    widths = [(0, 0)] * len(shape)
    for r in s.attrs.ranges(len(shape)):
        first, count = r.within(shape[r.axis])
        if r.stride != 1 or count < 1:
            return _registered(s, "strided_slice")
        widths[r.axis] = first, shape[r.axis] - first - count
    return [padded(s.grad, s.dtype, widths)]


def take(s: GradientSite) -> Sequence[Expr]:
    """The gradient of one place of an axis that the program knows; others have their registered rule."""
    index, axis = single_value(s.sources[1]), s.attrs.axis
    if index is None or s.shape(1) or axis is None or s.attrs.batch_dims:
        return _registered(s, "take")
    shape = s.shape()
    rank, axis = len(shape), axis % len(shape)
    place = int(index) + (shape[axis] if index < 0 else 0)
    if not 0 <= place < shape[axis]:
        return _registered(s, "take")
    grad = call("expand_dims", s.grad, axis=axis)
    return [padded_along_axis(grad, rank, s.dtype, axis, place, shape[axis] - place - 1), zeros_like(s.args[1])]


def _registered(s: GradientSite, name: str) -> Sequence[Expr]:
    rule = find_rule(name)
    assert rule is not None
    return rule(s)
