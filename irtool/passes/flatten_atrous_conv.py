"""FlattenAtrousConv: a convolution between space_to_batch and batch_to_space is a dilated convolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir import Call, Expr, Function, Module, TensorType, rewrite
from ..ops.base import is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("FlattenAtrousConv", level=0, required=("InferType",))
@dataclass(frozen=True)
class FlattenAtrousConv(FunctionPass):
    """Replaces space_to_batch_nd, convolution and batch_to_space_nd by one dilated convolution.

    ::

        nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x, block_shape=[2, 2], …), %w, …), block_shape=[2, 2], …)
            ⇒  nn.conv2d(%x, %w, padding=…, dilation=[2, 2], …)

    The padding keeps the spatial extents of the input ("same"). Applies to `nn.conv2d` and `qnn.conv2d` in layout NHWC with a
    known kernel size, if the three calls directly follow each other.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _Flattener().leave)


_STAGES = (("nn.space_to_batch_nd",), ("nn.conv2d", "qnn.conv2d"), ("nn.batch_to_space_nd",))


class _Flattener:
    def __init__(self) -> None:
        self.stage = 0

    def leave(self, old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call):
            return new
        if not is_call_to(new, *_STAGES[self.stage]):
            self.stage = 0
            return new
        self.stage += 1
        if self.stage < len(_STAGES):
            return new
        self.stage = 0
        return _flattened(old, new)


def _flattened(old: Call, new: Call) -> Expr:
    conv, was = new.args[0], old.args[0]
    if not is_call_to(conv, *_STAGES[1]) or not is_call_to(was, *_STAGES[1]):
        return new
    assert isinstance(conv, Call) and isinstance(was, Call)
    split, split_was = conv.args[0], was.args[0]
    if not is_call_to(split, *_STAGES[0]) or not is_call_to(split_was, *_STAGES[0]):
        return new
    attrs, data_type = conv.attrs, split_was.args[0].checked_type
    if attrs.data_layout != "NHWC" or attrs.kernel_size is None or not isinstance(data_type, TensorType):
        return new
    height, width = data_type.shape[1:3]
    if not isinstance(height, int) or not isinstance(width, int):
        return new
    dilation = tuple(old.attrs.block_shape[:2])
    top, bottom = _same_padding(attrs.kernel_size[0], dilation[0])
    left, right = _same_padding(attrs.kernel_size[1], dilation[1])
    dilated = replace(attrs, strides=(1, 1), padding=(top, left, bottom, right), dilation=dilation)
    return Call(conv.op, (split.args[0], *conv.args[1:]), dilated)


def _same_padding(kernel: int, dilation: int) -> tuple[int, int]:
    """Before and after an axis, so that a convolution of stride 1 keeps its extent."""
    total = max((kernel - 1) * dilation, 0)
    return total // 2, total - total // 2
