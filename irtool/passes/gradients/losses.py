"""The gradient of the negative log likelihood."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from ...tir.dtypes import accumulator_dtype
from ..core.arithmetic import add, divide, multiply, negative
from ..core.axes import expand_to_axis
from ..core.constants import scalar_constant
from .rule import GradientSite, gradient, zeros_like


@gradient("nn.nll_loss")
def nll_loss(s: GradientSite) -> list[Expr]:
    """-w at the class of each target; the sum of -p over the targets of a class; as a mean, over the sum of the weights.

    The classes are a mask, which fuses with the product, and no scatter.
    """
    predictions, targets, weights = s.args
    shape = s.shape()
    rank, classes = len(shape), shape[1]
    if 0 in shape:
        return [zeros_like(a) for a in s.args]
    wide = accumulator_dtype(s.dtype)

    def widened(e: Expr) -> Expr:
        return e if wide == s.dtype else call("cast", e, dtype=wide)

    one, zero = scalar_constant(1.0, wide), scalar_constant(0.0, wide)
    ignored = call("equal", targets, call("cast_like", scalar_constant(s.attrs.ignore_index, "int64"), targets))
    chosen = call("clip", targets, a_min=0.0, a_max=float(classes - 1))
    mask = call("one_hot", chosen, one, zero, depth=classes, axis=1, dtype=wide)
    counted = call("where", call("expand_dims", ignored, axis=1), zeros_like(mask), mask)
    weighted = multiply(counted, expand_to_axis(widened(weights), rank, [1]))
    grad = widened(s.grad)
    if s.attrs.reduction == "none":
        grad = call("expand_dims", grad, axis=1)
    moved = multiply(counted, widened(predictions))
    if s.attrs.reduction not in ("none", "sum"):
        grad = divide(grad, call("sum", weighted, axis=None))
        moved = add(moved, multiply(counted, widened(s.out)))  # a weight is in the denominator, too
    of_predictions = negative(multiply(weighted, grad))
    of_weights = negative(call("sum", multiply(moved, grad), axis=(1,), keepdims=False, exclude=True))
    return [call("cast_like", of_predictions, predictions), zeros_like(targets), call("cast_like", of_weights, weights)]
