"""tir.CommonSubexprElimTIR: computes what a statement computes several times once before it."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.common_subexpr_elim import eliminate_common_subexpressions
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass("tir.CommonSubexprElimTIR", aliases=("CommonSubexprElimTIR",))
@dataclass(frozen=True)
class CommonSubexprElimTIR(PrimFuncPass):
    """Computes what a statement computes several times once before it.

    ::

        out[((i*16) + j)] = (x[((i*16) + j)]*2f32)    ⇒    let cse_var_1: int32 = ((i*16) + j)
                                                             out[cse_var_1] = (x[cse_var_1]*2f32)

    What reads memory is left where it is, and what is evaluated under a condition only.

    Options:
        enable_cse_tir: False: nothing is done.
        identify_equiv_terms: take terms as equal that are so when they are simplified, too.
    """

    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        if not self.enable_cse_tir:
            return function
        return eliminate_common_subexpressions(function, self.identify_equiv_terms)
