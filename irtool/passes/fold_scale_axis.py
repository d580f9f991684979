"""FoldScaleAxis: per-channel scales go into weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import Composite, FunctionPass, Pass, register_pass
from .core.context import PassContext
from .fold_constant import FoldConstant
from .scale_axis.backward import fold_backward
from .scale_axis.forward import fold_forward


@register_pass("ForwardFoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class ForwardFoldScaleAxis(FunctionPass):
    """Folds a scale applied to the data of a convolution or dense layer into its weights.

    ::

        nn.conv2d(multiply(%x, %s), %w)            ⇒  nn.conv2d(%x, multiply(%w, %s'))
        nn.conv2d(nn.relu(multiply(%x, %s)), %w)   ⇒  nn.conv2d(nn.relu(%x), multiply(%w, %s'))   if %s is never negative
        nn.conv2d(add(multiply(%x, %s), %b), %w)   ⇒  nn.conv2d(add(%x, divide(%b, %s')), multiply(%w, %s'))

    The scale must vary along the channels only, every user of the scaled value must be able to absorb it, and the
    convolution must be depthwise or have one group. A bias added in between is divided by the scale, which must be a constant
    without zeros then, or a variable: TVM divides by any scale, and a zero gives infinities that the original did not have.
    Weights that another operator reads, such as a table of embeddings that is the head as well, stay: TVM makes scaled ones beside them.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return fold_forward(function)


@register_pass("BackwardFoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class BackwardFoldScaleAxis(FunctionPass):
    """Folds a scale applied to the result of a convolution or dense layer into its weights.

    ::

        multiply(nn.conv2d(%x, %w), %s)            ⇒  nn.conv2d(%x, multiply(%w, %s'))
        multiply(add(nn.conv2d(%x, %w), %b), %s)   ⇒  add(nn.conv2d(%x, multiply(%w, %s')), multiply(%b, %s'))

    The values between the convolution and the scale must have no other users; past a relu, the scale must be a
    non-negative constant.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return fold_backward(function)


@register_pass("FoldScaleAxis", level=0)
@dataclass(frozen=True)
class FoldScaleAxis(Composite):
    """BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant, each at its own level.

    ::

        multiply(nn.conv2d(%x, 2f-weights), 3f-scales)   ⇒   nn.conv2d(%x, 6f-weights)
    """

    def passes(self) -> Sequence[Pass]:
        return (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant())
