"""Losses of training: cross entropy, and the mean of squared differences."""

from __future__ import annotations

from ..diagnostics import IrError
from ..ir import Expr, TensorType, Type
from ..ops.base import call
from ..passes.core.arithmetic import divide, multiply, negative, subtract
from ..passes.core.constants import scalar_constant
from .mistakes import NoLoss
from .options import TrainOptions


def target_type(output: Type, options: TrainOptions) -> TensorType:
    """The type of the target: int64 numbers of classes in the shape of the scores without their axis, or the type of the output.

    Raises IrError for an output that the loss is not defined for.
    """
    if not isinstance(output, TensorType) or not output.dtype.startswith("float") or not output.is_static:
        raise IrError(
            f"the loss is defined for a tensor of floating-point numbers of static shape, not for {output}", code=NoLoss
        )
    if options.loss == "mse":
        return output
    axis, rank = options.class_axis, len(output.shape)
    if not -rank <= axis < rank or rank < 2:
        raise IrError(
            f"cross_entropy takes scores of classes along axis {axis}, and the output is {output}",
            help="--class-axis names another axis" if rank > 1 else "",
            code=NoLoss,
        )
    axis %= rank
    return TensorType((*output.shape[:axis], *output.shape[axis + 1 :]), "int64")


def loss_of(output: Expr, t: TensorType, target: Expr, options: TrainOptions) -> Expr:
    """The loss, a scalar: the mean over all elements of the target, of those that are classes."""
    if options.loss == "mse":
        difference = subtract(output, target)
        return call("mean", multiply(difference, difference), axis=None, keepdims=False, exclude=False)
    axis = options.class_axis % len(t.shape)
    classes = t.static_shape[axis]
    chosen = call(
        "one_hot",
        target,
        scalar_constant(1, t.dtype),
        scalar_constant(0, t.dtype),
        depth=classes,
        axis=-1 if axis == len(t.shape) - 1 else axis,
        dtype=t.dtype,
    )
    scores = call("nn.log_softmax", output, axis=axis)
    total = call("sum", multiply(chosen, scores), axis=None, keepdims=False, exclude=False)
    return divide(negative(total), _class_count(target, classes, t.dtype))


def _class_count(target: Expr, classes: int, dtype: str) -> Expr:
    """The number of elements of the target that are classes; others, such as torch's -100, have no part in the loss."""
    above = call("greater_equal", target, scalar_constant(0, "int64"))
    below = call("less", target, scalar_constant(classes, "int64"))
    is_class = call("cast", call("logical_and", above, below), dtype=dtype)
    return call("sum", is_class, axis=None, keepdims=False, exclude=False)
