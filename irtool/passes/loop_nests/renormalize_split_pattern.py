"""tir.RenormalizeSplitPattern: makes quotients of remainders remainders of quotients."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.renormalize_split_pattern import renormalize_splits
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


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
