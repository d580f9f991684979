"""UnfoldScaleAxis: scales that are computed go back from large weights to small data."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Constant, Expr, Function, Module, rewrite
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.extents import extents_of, is_smaller


@register_pass("UnfoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class UnfoldScaleAxis(FunctionPass):
    """Scales the data of a convolution or dense layer in place of its constant weights, where these are more.

    ::

        nn.conv2d(%x, multiply(meta[relay.Constant][0], %s))   ⇒   nn.conv2d(multiply(%x, %s), meta[relay.Constant][0])
        nn.dense(%x, multiply(meta[relay.Constant][0], %s))    ⇒   nn.dense(multiply(%x, %s), meta[relay.Constant][0])

    ForwardFoldScaleAxis moves every scale into the weights. One that is computed from the inputs is multiplied anew in each run,
    and the weights are constants no more. The scale must vary along the input channels only, and the convolution must have
    one group, and its data and weights in the layouts NCHW and OIHW.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _leave)


def _leave(old: Expr, new: Expr) -> Expr:
    scaled = _scaled(old)
    if scaled is None or not isinstance(new, Call):
        return new
    constant, scale = scaled
    product = new.args[1]
    assert isinstance(product, Call)
    data = call("multiply", new.args[0], product.args[scale])
    return Call(new.op, (data, product.args[constant]), new.attrs, new.type_args, new.span)


def _scaled(e: Expr) -> tuple[int, int] | None:
    """Positions of the constant and the smaller scale in the product of a call's weights; None for another call."""
    if not isinstance(e, Call) or not is_call_to(e, "nn.conv2d", "nn.dense"):
        return None
    if is_call_to(e, "nn.conv2d") and (
        e.attrs.groups != 1 or e.attrs.data_layout != "NCHW" or e.attrs.kernel_layout != "OIHW"
    ):
        return None
    data, product = e.args
    if not isinstance(product, Call) or not is_call_to(product, "multiply"):
        return None
    for constant, scale in ((0, 1), (1, 0)):
        if isinstance(product.args[constant], Constant) and not isinstance(product.args[scale], Constant):
            read, weights, by = (extents_of(x) for x in (data, product.args[constant], product.args[scale]))
            if read is None or weights is None or by is None or len(read) != len(weights) or len(by) > len(weights):
                continue
            wide = (1,) * (len(weights) - len(by)) + by
            along = all(n == 1 or axis == 1 for axis, n in enumerate(wide)) and wide[1] in (1, weights[1])
            if along and read[1] == weights[1] and is_smaller(read, weights):
                return constant, scale
    return None
