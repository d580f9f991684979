"""Gradients of sorting: each value's gradient goes back to where the value was."""

from __future__ import annotations

from ...ir import Expr, TupleGetItem
from ...ops.base import call
from .rule import GradientSite, flat, gradient, zeros_like


@gradient("sort")
def sort(s: GradientSite) -> list[Expr]:
    """The gradient back to where the elements were before."""
    (x,) = s.args
    order = call("argsort", x, axis=s.attrs.axis, is_ascend=s.attrs.is_ascend, dtype="int32")
    return [call("scatter_add", zeros_like(x), order, s.grad, axis=s.attrs.axis)]


@gradient("topk")
def topk(s: GradientSite) -> list[Expr]:
    """The gradient of each value back to where it was; positions are flat."""
    (x,) = s.args
    if s.attrs.ret_type == "indices":
        return flat(s)
    a = s.attrs
    order = call("topk", x, k=a.k, axis=a.axis, ret_type="indices", is_ascend=a.is_ascend, dtype="int32")
    grad = TupleGetItem(s.grad, 0) if a.ret_type == "both" else s.grad
    return [call("scatter_add", zeros_like(x), order, grad, axis=a.axis)]
