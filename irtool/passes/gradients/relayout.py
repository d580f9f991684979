"""Gradients of layers whose tensors are stored in another layout: by the rule for the plain one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir import Call, Expr, TensorType
from ...ops.base import call
from ...ops.known import Known
from ...ops.layout import convert_shape
from .axis_map import padded
from .rule import GradientRule, GradientSite


def in_layouts(s: GradientSite, layouts: Sequence[str], plain: Sequence[str], rule: GradientRule) -> list[Expr]:
    """The gradients by `rule` of the call on tensors in the layouts `plain`, in the layouts of the arguments.

    The layouts are those of data, further arguments, and result; the attributes are `data_layout`, `kernel_layout` and `out_layout`.
    """
    args, types = [], []
    for value, type_, stored, target in zip(s.args, s.types, layouts, plain, strict=False):
        assert isinstance(type_, TensorType)
        args.append(_relaid(value, stored, target))
        types.append(TensorType(convert_shape(type_.shape, stored, target), type_.dtype))
    attrs = replace(s.attrs, data_layout=plain[0], kernel_layout=plain[-2], out_layout=plain[-1])
    result = attrs.relate(types, Known())
    assert isinstance(result, TensorType)
    have = convert_shape(s.result_shape, layouts[-1], plain[-1])
    widths = [(0, n - int(m)) for n, m in zip(result.static_shape, have, strict=True)]  # type: ignore[arg-type]  # static
    grad = padded(_relaid(s.grad, layouts[-1], plain[-1]), s.result_dtype, widths)
    out = Call(s.out.op, tuple(args), attrs)
    site = replace(s, args=tuple(args), types=tuple(types), attrs=attrs, out=out, type=result, grad=grad)
    return [_relaid(g, target, stored) for g, stored, target in zip(rule(site), layouts, plain, strict=False)]


def _relaid(e: Expr, source: str, target: str) -> Expr:
    return e if source == target else call("layout_transform", e, src_layout=source, dst_layout=target)
