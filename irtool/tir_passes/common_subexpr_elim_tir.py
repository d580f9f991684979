"""tir.CommonSubexprElimTIR: computes a repeated expression of a statement once before it."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.common_subexpr_elim import eliminate_common_subexpressions


@register_pass("tir.CommonSubexprElimTIR", aliases=("CommonSubexprElimTIR",))
@dataclass(frozen=True)
class CommonSubexprElimTIR(PrimFuncPass):
    """Computes repeated subexpressions of a statement once, in a `let` before it.

    ::

        out[((i*16) + j)] = (x[((i*16) + j)]*2f32)    ⇒    let cse_var_1: int32 = ((i*16) + j)
                                                             out[cse_var_1] = (x[cse_var_1]*2f32)

    Expressions that read memory, or that are evaluated conditionally, stay in place.

    Options:
        enable_cse_tir: if False, do nothing.
        identify_equiv_terms: also treat terms as equal if they are equal after simplification.
    """

    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        if not self.enable_cse_tir:
            return function
        return eliminate_common_subexpressions(function, self.identify_equiv_terms)
