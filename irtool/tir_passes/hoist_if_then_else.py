"""tir.HoistIfThenElse: asks conditions that are the same in every step of a loop before it."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import UsageError
from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..passes.core.mistakes import WrongPassOption
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.hoist_if_then_else import hoist_conditions


@register_pass("tir.HoistIfThenElse", aliases=("HoistIfThenElse",))
@dataclass(frozen=True)
class HoistIfThenElse(PrimFuncPass):
    """Hoists loop-invariant conditions out of loops.

    ::

        for (i: int32, 0, 4) {                 for (i: int32, 0, 4) {
          for (j: int32, 0, 8) {                 if (i < 3) {
            if (i < 3) {                ⇒         for (j: int32, 0, 8) {
              out[((i*8) + j)] = 1f32              out[((i*8) + j)] = 1f32
            }                                      }
          }                                      }
        }                                      }

    The branch must be the whole body of the loop.

    Options:
        variant: `basic`, or nothing; both are the same here.
    """

    variant: str = ""

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        if self.variant not in ("", "basic"):
            raise UsageError(f"variant is basic or empty, not {self.variant}", code=WrongPassOption)
        return hoist_conditions(function)
