"""tir.RewriteUnsafeSelect: evaluates only one side of a choice that reads memory."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.rewrite_unsafe_select import guard_selects
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass("tir.RewriteUnsafeSelect", aliases=("RewriteUnsafeSelect",))
@dataclass(frozen=True)
class RewriteUnsafeSelect(PrimFuncPass):
    """Replaces selects that read memory by `if_then_else`, which evaluates one side only.

    ::

        select((i < 8), x[i], 0f32)    ⇒    @tir.if_then_else((i < 8), x[i], 0f32, dtype=float32)
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return guard_selects(function)
