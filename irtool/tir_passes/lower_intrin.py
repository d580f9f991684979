"""tir.LowerIntrin: integer division and functions by operations of processors and C."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.lower_intrin import lower_intrinsics


@register_pass("tir.LowerIntrin", aliases=("LowerIntrin",))
@dataclass(frozen=True)
class LowerIntrin(PrimFuncPass):
    """Lowers division that rounds down, and functions without an instruction, to simpler operations.

    ::

        out[floordiv(i, 4)] = x[floormod(i, 3)]    ⇒    out[@tir.shift_right(i, 2, …)] = x[truncmod(i, 3)]
        out[i] = @tir.sigmoid(x[i], …)             ⇒    out[i] = (1f32 / (1f32 + @tir.exp((0f32 - x[i]), …)))

    By a power of two: a shift or a mask. Of numbers that are never negative: `truncdiv` and `truncmod`. Otherwise these, with
    a correction where the remainder has the wrong sign. `sigmoid`, `rsqrt` and `isfinite` become `exp`, `sqrt`, `isnan` and `isinf`,
    as by TVM's rules for any target; rules for single targets have no counterpart, since backends have their own functions.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return lower_intrinsics(function)
