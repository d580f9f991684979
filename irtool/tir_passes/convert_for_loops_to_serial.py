"""tir.ConvertForLoopsToSerial: makes parallel loops serial."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.convert_for_loops_to_serial import serialize_loops


@register_pass("tir.ConvertForLoopsToSerial", aliases=("ConvertForLoopsToSerial",))
@dataclass(frozen=True)
class ConvertForLoopsToSerial(PrimFuncPass):
    """Makes parallel loops serial.

    ::

        for (i: int32, 0, 8) "parallel" { … }    ⇒    for (i: int32, 0, 8) { … }
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return serialize_loops(function)
