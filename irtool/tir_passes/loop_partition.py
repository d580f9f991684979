"""tir.LoopPartition: splits loops where the conditions in them begin and cease to hold, so that the part between need not ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.config_option import ConfigOption
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.loop_partition import partition_loops


@register_pass(
    "tir.LoopPartition",
    aliases=("LoopPartition",),
    config={"tir.LoopPartition": ConfigOption(dict, None, "options of the pass, by name")},
)
@dataclass(frozen=True)
class LoopPartition(PrimFuncPass):
    """Splits loops where their conditions change, so that the middle part needs no check.

    ::

        for (i: int32, 0, 10) {                                  out[0] = 0f32
          out[i] = @tir.if_then_else(((1 <= i) && (i < 9)),       for (i: int32, 0, 8) {
                                     x[(i - 1)], 0f32)     ⇒       out[(i + 1)] = x[i]
        }                                                        }
                                                                 out[9] = 0f32

    Loops of constant extent (all loops over static shapes) are split only with `partition_const_loop`, set here or in the
    config `tir.LoopPartition`, as in TVM.

    Options:
        partition_const_loop: split loops of constant extent.
        no_unroll_loop_with_extent_one: keep parts of one step as loops.
        unroll_loop_with_partition_hint_no_interval: accepted without effect, since nests have no partition hints here.
    """

    key: ClassVar[str] = "tir.LoopPartition"

    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        if not self.option(context, "partition_const_loop"):
            return function
        return partition_loops(function, self.option(context, "no_unroll_loop_with_extent_one"))
