"""tir.RemoveNoOp: leaves out what does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.remove_no_op import remove_no_ops
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass("tir.RemoveNoOp", aliases=("RemoveNoOp",))
@dataclass(frozen=True)
class RemoveNoOp(PrimFuncPass):
    """Leaves out what does nothing.

    ::

        for (i: int32, 0, 8) {              for (i: int32, 0, 8) {
          let t: int32 = (i*2)                out[i] = x[i]
          out[i] = x[i]             ⇒      }
          out[i] = out[i]
        }
        for (j: int32, 0, 4) {
        }

    That is: loops of no step or of an empty body, branches with nothing in them, stores of what is there already, variables that
    nothing reads, and memory that nothing reads, with what is stored there.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return remove_no_ops(function)
