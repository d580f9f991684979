"""tir.RewriteUnsafeSelect: evaluates only one side of a choice that reads memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.rewrite_unsafe_select import guard_selects


@register_pass("tir.RewriteUnsafeSelect", aliases=("RewriteUnsafeSelect",))
@dataclass(frozen=True)
class RewriteUnsafeSelect(PrimFuncPass):
    """Replaces selects that read memory by `if_then_else`, which evaluates one side only.

    ::

        select((i < 8), x[i], 0f32)    ⇒    @tir.if_then_else((i < 8), x[i], 0f32, dtype=float32)
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return guard_selects(function)
