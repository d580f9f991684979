"""tir.NarrowDataType: loop variables, and the indices that are computed from them, in fewer bits."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import UsageError
from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..passes.core.mistakes import WrongPassOption
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.narrow_data_type import narrow_data_types


@register_pass("tir.NarrowDataType", aliases=("NarrowDataType",))
@dataclass(frozen=True)
class NarrowDataType(PrimFuncPass):
    """Narrows loop variables, and indices computed from them, to `target_bits` bits.

    ::

        for (i: int64, 0, 4i64) {                 for (i: int32, 0, 4) {
          out[((i*4i64) + 3i64)] = 1f32    ⇒      out[((i*4) + 3)] = 1f32
        }                                         }

    A variable keeps its dtype if a number computed from it may not fit, in an index or anywhere else. Values that are stored are
    cast to the dtype of their buffer.

    Options:
        target_bits: 16, 32 or 64; variables that have no more bits stay as they are.
    """

    target_bits: int = 32

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        if self.target_bits not in (16, 32, 64):
            raise UsageError(f"target_bits is 16, 32 or 64, not {self.target_bits}", code=WrongPassOption)
        return narrow_data_types(function, self.target_bits)
