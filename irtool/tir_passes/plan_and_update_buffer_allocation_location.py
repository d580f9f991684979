"""tir.PlanAndUpdateBufferAllocationLocation: allocates buffers right around the statements that use them."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.plan_allocations import sink_allocations


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
