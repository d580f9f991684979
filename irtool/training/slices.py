"""Gradients of slices in training, as padded tensors.

Padding fuses with the sums around it. `Gradient` has TVM's forms, `strided_set` and, for `take`, a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Constant, Expr, MissingData
from ..ops.base import call
from ..passes.core.constants import scalar_constant, to_array
from ..passes.gradients.rule import GradientSite, find_rule, zeros_like


def strided_slice(s: GradientSite) -> Sequence[Expr]:
    """The gradient of a slice of neighbouring elements; others have their registered rule."""
    (shape,), ranges = [s.shape()], s.attrs.ranges(len(s.shape()))
    borders = [(0, 0)] * len(shape)
    for r in ranges:
        first, count = r.within(shape[r.axis])
        if r.stride != 1 or count < 1:
            return _registered(s, "strided_slice")
        borders[r.axis] = first, shape[r.axis] - first - count
    return [_padded(s.grad, borders, s.dtype)]


def take(s: GradientSite) -> Sequence[Expr]:
    """The gradient of one place of an axis that the program knows; others have their registered rule."""
    index = s.sources[1]
    axis = s.attrs.axis
    if not isinstance(index, Constant) or isinstance(index.data, MissingData) or not index.is_scalar or axis is None:
        return _registered(s, "take")
    shape = s.shape()
    axis %= len(shape)
    place = int(to_array(index)) + (shape[axis] if to_array(index) < 0 else 0)
    if not 0 <= place < shape[axis] or s.attrs.batch_dims != 0:
        return _registered(s, "take")
    borders = [(place, shape[axis] - place - 1) if k == axis else (0, 0) for k in range(len(shape))]
    return [_padded(call("expand_dims", s.grad, axis=axis), borders, s.dtype), zeros_like(s.args[1])]


def _padded(e: Expr, borders: Sequence[tuple[int, int]], dtype: str) -> Expr:
    if not any(map(any, borders)):
        return e
    return call("nn.pad", e, scalar_constant(0, dtype), pad_width=[list(b) for b in borders])


def _registered(s: GradientSite, name: str) -> Sequence[Expr]:
    rule = find_rule(name)
    assert rule is not None
    return rule(s)
