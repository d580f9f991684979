"""tir.ConvertSSA: gives every loop, `let` and allocation a variable or a buffer of its own."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.convert_ssa import convert_to_ssa
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass


@register_pass("tir.ConvertSSA", aliases=("ConvertSSA",))
@dataclass(frozen=True)
class ConvertSSA(PrimFuncPass):
    """Gives every loop, `let` and allocation its own variable or buffer.

    ::

        let t = x[0]; out[0] = t; let t = x[1]; out[1] = t    ⇒    let t = x[0]; out[0] = t; let t_1 = x[1]; out[1] = t_1

    Nests from text or from LowerTE have this form already; nests built in Python may share statements.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return convert_to_ssa(function)
