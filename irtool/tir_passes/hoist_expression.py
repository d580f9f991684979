"""tir.HoistExpression: conditions and `let`s that are the same in every step of a loop, before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.config_option import ConfigOption
from ..passes.core.context import PassContext
from ..passes.core.mistakes import WrongPassOption
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.hoist_expression import Conditionals, LetBindings, hoist_expressions
from .transforms.remove_no_op import remove_no_ops
from .transforms.simplify import simplify_function


@register_pass(
    "tir.HoistExpression",
    aliases=("HoistExpression",),
    config={"tir.HoistExpression": ConfigOption(dict, None, "options of the pass, by name")},
)
@dataclass(frozen=True)
class HoistExpression(PrimFuncPass):
    """Hoists loop-invariant conditions and `let`s out of loops, wherever they are evaluated in each step.

    ::

        for (i: int32, 0, 4) {                                   for (i: int32, 0, 4) {
          for (j: int32, 0, 8) {                                   if (i < 3) {
            out[((i*8) + j)] =                              ⇒        for (j: int32, 0, 8) {
              @tir.if_then_else((i < 3), x[j], 0f32)                   out[((i*8) + j)] = x[j]
          }                                                          }
        }                                                          } else {
                                                                     for (j_1: int32, 0, 8) {
                                                                       out[((i*8) + j_1)] = 0f32
                                                                     }
                                                                   }
                                                                 }

    Conditions that read memory stay, and so do those inside one of several statements. The result is simplified, and statements
    without effect are removed. At most four conditions leave one loop, since each doubles it.

    Options, here or in the config `tir.HoistExpression`, each a sum of numbers as in TVM:
        hoisted_conditionals: 1: conditions of branches; 2: conditions of `if_then_else`; 4: operands of `and` and `or`; 8: conditions
            on thread indices, of which nests have none.
        hoisted_let_bindings: 1: `let`s that a hoisted condition needs; 2: all `let` statements; 4: `let`s inside expressions, of
            which nests have none.
    """

    key: ClassVar[str] = "tir.HoistExpression"

    hoisted_conditionals: int = 7
    hoisted_let_bindings: int = 7

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        conditionals = self._flags(context, "hoisted_conditionals", 15)
        lets = self._flags(context, "hoisted_let_bindings", 7)
        hoisted = hoist_expressions(function, Conditionals(conditionals), LetBindings(lets))
        return remove_no_ops(simplify_function(hoisted))

    def _flags(self, context: PassContext, name: str, most: int) -> int:
        value: int = self.option(context, name)
        if not 0 <= value <= most:
            raise UsageError(f"{name} is from 0 to {most}, not {value}", code=WrongPassOption)
        return value
