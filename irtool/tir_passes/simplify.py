"""tir.Simplify: simplifies arithmetic, with the ranges of loops and conditions, and takes decided branches."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.simplify import simplify_function


@register_pass("tir.Simplify", aliases=("Simplify",))
@dataclass(frozen=True)
class Simplify(PrimFuncPass):
    """Simplifies integer arithmetic using loop ranges and conditions, and removes branches that are never taken.

    ::

        for (i: int32, 0, 8) {                                  for (i: int32, 0, 8) {
          if (i < 8) {                                            out[i] = x[i]
            out[floordiv(((i*4) + 3), 4)] = x[(i + 0)]    ⇒    }
          }
        }

    Only 32-bit and 64-bit integers are simplified: sums of floats keep their order.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return simplify_function(function)
