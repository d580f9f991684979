"""tir.UnrollLoop: writes unrolled loops out, step by step, and small serial ones if it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.unroll_loop import unroll_loops
from ..base import register_pass
from ..config_option import ConfigOption
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass(
    "tir.UnrollLoop",
    aliases=("UnrollLoop",),
    config={"tir.UnrollLoop": ConfigOption(dict, None, "options of the pass, by name")},
)
@dataclass(frozen=True)
class UnrollLoop(PrimFuncPass):
    """Writes unrolled loops out, step by step, and small serial ones if it is told to.

    ::

        for (i: int32, 0, 2) "unroll" {            out[0] = x[0]
          out[i] = x[i]                   ⇒      out[1] = x[1]
        }

    Options, here or in the config `tir.UnrollLoop`:
        auto_max_step: serial loops that run at most so many statements in all are written out, too.
        auto_max_depth: so many loops inside of each other are, at most.
        auto_max_extent: serial loops of at most so many steps are, whatever they run.
        explicit_unroll: False: loops are marked as unrolled, and the compiler of C writes them out.
    """

    key: ClassVar[str] = "tir.UnrollLoop"

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        names = ("auto_max_step", "auto_max_depth", "auto_max_extent", "explicit_unroll")
        return unroll_loops(function, *(self.option(context, n) for n in names))
