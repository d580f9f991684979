"""tir.CompactBufferAllocation: allocates the accessed region of a buffer only."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.compact_buffers import compact_buffers


@register_pass("tir.CompactBufferAllocation", aliases=("CompactBufferAllocation",))
@dataclass(frozen=True)
class CompactBufferAllocation(PrimFuncPass):
    """Shrinks allocated buffers to the part that is read or written.

    ::

        for (i: int32, 0, 8) {                         for (i: int32, 0, 8) {
          allocate(t: …, float32, [8, 16]) {             allocate(t: …, float32, [1, 16]) {
            for (j: int32, 0, 16) {               ⇒        for (j: int32, 0, 16) {
              t[i, j] = x[i, j]                              t[0, j] = x[i, j]
            } …                                            } …

    As in TVM, functions that LowerTE made (`"from_legacy_te_schedule": True`) are left alone: their buffers are compact.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return function if function.attrs.get("from_legacy_te_schedule") else compact_buffers(function)
