"""CanonicalizeQuantizable: layers in the forms that are computed in integers."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .qdq_insertion.canonical import canonicalize


@register_pass("CanonicalizeQuantizable", level=0, required=("InferType",))
@dataclass(frozen=True)
class CanonicalizeQuantizable(FunctionPass):
    """Makes biases of constant summands, and matrix products of dense layers, for `InsertQDQ`.

    ::

        add(nn.conv2d(%x, %w), b)   ⇒  nn.bias_add(nn.conv2d(%x, %w), b')   where the constant b varies by channel only
        nn.dense(%x, %w)            ⇒  reshape(nn.dense(reshape(%x), %w))   where %x has more than two axes
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return canonicalize(function)
