"""tir.PlanAndUpdateBufferAllocationLocation: allocates buffers right around the statements that use them."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.plan_allocations import sink_allocations
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass("tir.PlanAndUpdateBufferAllocationLocation", aliases=("PlanAndUpdateBufferAllocationLocation",))
@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(PrimFuncPass):
    """Moves each allocation directly around the statements that use the buffer.

    ::

        allocate(a: …) {                       f(x)
          f(x)                                 allocate(a: …) {
          g(a)                          ⇒       g(a)
          h(a)                                   h(a)
          k(x)                                 }
        }                                      k(x)

    An allocation does not move into a loop.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return sink_allocations(function)
