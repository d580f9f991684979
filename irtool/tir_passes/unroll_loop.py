"""tir.UnrollLoop: writes unrolled loops out, step by step, and small serial ones if it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.config_option import ConfigOption
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.unroll_loop import unroll_loops


@register_pass(
    "tir.UnrollLoop",
    aliases=("UnrollLoop",),
    config={"tir.UnrollLoop": ConfigOption(dict, None, "options of the pass, by name")},
)
@dataclass(frozen=True)
class UnrollLoop(PrimFuncPass):
    """Expands loops marked as unrolled, and on request small serial loops.

    ::

        for (i: int32, 0, 2) "unroll" {            out[0] = x[0]
          out[i] = x[i]                   ⇒      out[1] = x[1]
        }

    Options, here or in the config `tir.UnrollLoop`:
        auto_max_step: also expand serial loops that run at most this many statements in total.
        auto_max_depth: maximum depth of nested loops to expand.
        auto_max_extent: also expand serial loops of at most this many steps, with any body.
        explicit_unroll: if False, mark loops as unrolled and leave the expansion to the C compiler.
    """

    key: ClassVar[str] = "tir.UnrollLoop"

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        names = ("auto_max_step", "auto_max_depth", "auto_max_extent", "explicit_unroll")
        return unroll_loops(function, *(self.option(context, n) for n in names))
