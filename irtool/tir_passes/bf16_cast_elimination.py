"""tir.BF16CastElimination: leaves out the rounding of results that are computed with again."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.bf16_cast_elimination import eliminate_bfloat16_casts


@register_pass("tir.BF16CastElimination", aliases=("BF16CastElimination",))
@dataclass(frozen=True)
class BF16CastElimination(PrimFuncPass):
    """Removes casts from float32 to bfloat16 and straight back.

    ::

        cast(float32, cast(bfloat16, (a + b)))    ⇒    (a + b)

    A result that is computed with again keeps the digits that bfloat16 has no room for: values change by that rounding. It follows
    `tir.BF16Promote`, which makes such casts.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return eliminate_bfloat16_casts(function)
