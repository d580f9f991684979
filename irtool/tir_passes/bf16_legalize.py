"""tir.BF16Legalize: does arithmetic on bfloat16 in float32."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.bf16_legalize import legalize_bfloat16


@register_pass("tir.BF16Legalize", aliases=("BF16Legalize",))
@dataclass(frozen=True)
class BF16Legalize(PrimFuncPass):
    """Computes bfloat16 arithmetic in float32.

    ::

        out[i] = (x[i] + y[i])    ⇒    out[i] = cast(bfloat16, (cast(float32, x[i]) + cast(float32, y[i])))

    Loads and stores stay bfloat16; the result of each operation is rounded to it.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return legalize_bfloat16(function)
