"""tir.RemoveNoOp: removes statements without effect."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.remove_no_op import remove_no_ops


@register_pass("tir.RemoveNoOp", aliases=("RemoveNoOp",))
@dataclass(frozen=True)
class RemoveNoOp(PrimFuncPass):
    """Removes statements without effect.

    ::

        for (i: int32, 0, 8) {              for (i: int32, 0, 8) {
          let t: int32 = (i*2)                out[i] = x[i]
          out[i] = x[i]             ⇒      }
          out[i] = out[i]
        }
        for (j: int32, 0, 4) {
        }

    These are loops without steps or with an empty body, empty branches, stores of a value already in place, unused variables,
    and buffers that are never read, with their stores.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return remove_no_ops(function)
