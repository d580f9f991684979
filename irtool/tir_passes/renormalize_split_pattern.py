"""tir.RenormalizeSplitPattern: makes quotients of remainders remainders of quotients."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.renormalize_split_pattern import renormalize_splits


@register_pass("tir.RenormalizeSplitPattern", aliases=("RenormalizeSplitPattern",))
@dataclass(frozen=True)
class RenormalizeSplitPattern(PrimFuncPass):
    """Rewrites indices of split and fused loops to remainders of quotients, from quotients of remainders.

    ::

        floordiv(floormod(x, 32), 8)       ⇒    floormod(floordiv(x, 8), 4)
        floordiv(((x*16) + y), 64)         ⇒    floordiv((x + floordiv(y, 16)), 4)
        (((x*16) + y) < 64)                ⇒    (floordiv((x + floordiv(y, 16)), 4) < 1)

    What the ranges of loops make of the parts is left to `tir.Simplify`. Only 32-bit and 64-bit integers are rewritten, which
    must not overflow.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return renormalize_splits(function)
