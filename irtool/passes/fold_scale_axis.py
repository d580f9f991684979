"""FoldScaleAxis: per-channel scales go into weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir import Function, Module
from .base import Composite, FunctionPass, Pass, register_pass
from .context import PassContext
from .fold_constant import FoldConstant
from .scale_axis.backward import fold_backward
from .scale_axis.forward import fold_forward


@register_pass("ForwardFoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class ForwardFoldScaleAxis(FunctionPass):
    """Moves a scale in front of a convolution or dense layer into its weights.

    ::

        nn.conv2d(multiply(%x, %s), %w)            ⇒  nn.conv2d(%x, multiply(%w, %s'))
        nn.conv2d(nn.relu(multiply(%x, %s)), %w)   ⇒  nn.conv2d(nn.relu(%x), multiply(%w, %s'))   if %s is never negative
        nn.conv2d(add(multiply(%x, %s), %b), %w)   ⇒  nn.conv2d(add(%x, divide(%b, %s')), multiply(%w, %s'))

    The scale must run along the channels only, every use of the scaled value must be able to take it up, and the
    convolution must be depthwise or have one group. Divides by the scale where a bias is added on the way, so a scale of
    zero gives an infinity there that was none before.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return fold_forward(function)


@register_pass("BackwardFoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class BackwardFoldScaleAxis(FunctionPass):
    """Moves a scale behind a convolution or dense layer into its weights.

    ::

        multiply(nn.conv2d(%x, %w), %s)            ⇒  nn.conv2d(%x, multiply(%w, %s'))
        multiply(add(nn.conv2d(%x, %w), %b), %s)   ⇒  add(nn.conv2d(%x, multiply(%w, %s')), multiply(%b, %s'))

    Nothing else may use what lies between the convolution and the scale; past a relu, the scale must be a constant that
    is never negative.
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
