"""CanonicalizeOps: operators that are short for others are written out."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Expr, Function, Module, TensorType, rewrite
from ..ops.base import call, is_call_to
from .core.axes import expand_to_axis
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("CanonicalizeOps", level=3, required=("InferType",))
@dataclass(frozen=True)
class CanonicalizeOps(FunctionPass):
    """Rewrites `nn.bias_add` as `expand_dims` and `add`, which later passes can move and combine.

    ::

        nn.bias_add(%x, %b)   ⇒   add(%x, expand_dims(%b, axis=1, num_newaxis=2))       for %x of rank 4
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _leave)


def _leave(old: Expr, new: Expr) -> Expr:
    if not is_call_to(new, "nn.bias_add"):
        return new
    assert isinstance(old, Call)
    data_type = old.args[0].checked_type
    assert isinstance(data_type, TensorType)
    rank = len(data_type.shape)
    data, bias = new.args
    return call("add", data, expand_to_axis(bias, rank, [new.attrs.axis % rank]))
