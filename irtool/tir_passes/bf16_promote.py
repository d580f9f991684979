"""tir.BF16Promote: does arithmetic on bfloat16 in float32, and rounds each result."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.bf16_legalize import legalize_bfloat16


@register_pass("tir.BF16Promote", aliases=("BF16Promote",))
@dataclass(frozen=True)
class BF16Promote(PrimFuncPass):
    """Computes bfloat16 arithmetic in float32, rounding each result: the first step of TVM's `BF16Legalize`.

    ::

        out[i] = (x[i] + y[i])    ⇒    out[i] = cast(bfloat16, (cast(float32, x[i]) + cast(float32, y[i])))

    `tir.BF16Legalize` does the same here: it takes no rounding away, which `tir.BF16CastElimination` does.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return legalize_bfloat16(function)
