"""Gradients of operators that repeat elements: the gradients of all copies are added up."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Expr, Tuple, TupleGetItem, TupleType
from ...ops.base import call
from ..core.reshaping import reshape_to
from .rule import GradientSite, gradient, sum_like, zeros_like


@gradient("broadcast_to")
def broadcast_to(s: GradientSite) -> list[Expr]:
    """The sum over the copies."""
    return [sum_like(s.grad, s.args[0])]


@gradient("broadcast_to_like", "dyn.broadcast_to")
def broadcast_by(s: GradientSite) -> list[Expr]:
    """The sum over the copies; the second argument only gives a shape."""
    return [sum_like(s.grad, s.args[0]), zeros_like(s.args[1])]


def _blocks_summed(s: GradientSite, parts: Sequence[tuple[int, ...]], summed: Sequence[int]) -> Expr:
    """The gradient with each axis cut into `parts`, summed over some of the resulting axes, in the shape of the data."""
    if not summed:
        return call("reshape_like", s.grad, s.args[0])
    cut = reshape_to(s.grad, [extent for part in parts for extent in part])
    return call("reshape_like", call("sum", cut, axis=tuple(summed), keepdims=False), s.args[0])


@gradient("tile")
def tile(s: GradientSite) -> list[Expr]:
    """The sum over the repetitions of the whole tensor."""
    shape = s.shape()
    reps = tuple(int(r) for r in s.attrs.reps)
    rank = max(len(shape), len(reps))
    shape, reps = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(reps)) + reps
    parts: list[tuple[int, ...]] = []
    summed: list[int] = []
    for times, extent in zip(reps, shape, strict=True):
        if times > 1:
            summed.append(sum(map(len, parts)))
        parts.append((times, extent) if times > 1 else (extent,))
    return [_blocks_summed(s, parts, summed)]


@gradient("repeat")
def repeat(s: GradientSite) -> list[Expr]:
    """The sum over the copies of each element."""
    shape, times = s.shape(), int(s.attrs.repeats)
    axis = s.attrs.axis % len(shape)
    parts = [(extent, times) if a == axis else (extent,) for a, extent in enumerate(shape)]
    return [_blocks_summed(s, parts, [axis + 1])]


@gradient("meshgrid")
def meshgrid(s: GradientSite) -> list[Expr]:
    """Of each vector, the sum of its grid over the other axes."""
    fields = s.types[0]
    assert isinstance(fields, TupleType)
    count = len(fields.fields)
    gradients = []
    for k in range(count):
        others = [a for a in range(count) if a != s.attrs.axis_of(k, count)]
        grid: Expr = TupleGetItem(s.grad, k)
        total = call("sum", grid, axis=tuple(others), keepdims=False) if others else grid
        gradients.append(call("reshape_like", total, TupleGetItem(s.args[0], k)))
    return [Tuple(tuple(gradients))]


@gradient("full")
def full(s: GradientSite) -> list[Expr]:
    """The sum over all elements."""
    return [_total(s.grad, s.args[0])]


@gradient("full_like")
def full_like(s: GradientSite) -> list[Expr]:
    """0 for the tensor that gives the shape, and the sum over all elements."""
    return [zeros_like(s.args[0]), _total(s.grad, s.args[1])]


@gradient("dyn.full")
def full_dynamic(s: GradientSite) -> list[Expr]:
    """The sum over all elements; a shape has no gradient."""
    return [_total(s.grad, s.args[0]), zeros_like(s.args[1])]


def _total(grad: Expr, scalar: Expr) -> Expr:
    """The sum of all elements in the shape and dtype of a tensor of one element."""
    return call("reshape_like", call("cast_like", call("sum", grad, axis=None), scalar), scalar)
