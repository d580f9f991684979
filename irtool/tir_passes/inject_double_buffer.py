"""tir.InjectDoubleBuffer: fills a buffer for the next step of a loop while a step uses the other half of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import UsageError
from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.config_option import ConfigOption
from ..passes.core.context import PassContext
from ..passes.core.mistakes import WrongPassOption
from ..tir.stmt import Annotate, PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.inject_double_buffer import inject_double_buffers


@register_pass(
    "tir.InjectDoubleBuffer",
    aliases=("InjectDoubleBuffer",),
    config={"tir.InjectDoubleBuffer": ConfigOption(dict, None, "options of the pass, by name")},
)
@dataclass(frozen=True)
class InjectDoubleBuffer(PrimFuncPass):
    """Gives buffers annotated with `double_buffer_scope` two halves: one is filled for the next step while the other is read.

    ::

        for (i: int32, 0, 8) {                         allocate(t: …, float32, [8]) {
          allocate(t: …, float32, [4]) {                 for (j: …) { t[j] = x[j] }
            attr [t] "double_buffer_scope" = 1 {         for (i: int32, 0, 7) {
              for (j: …) { t[j] = x[i*4 + j] }    ⇒        for (j: …) { t[(i + 1) % 2*4 + j] = x[(i + 1)*4 + j] }
            }                                              for (k: …) { out[i*4 + k] = t[i % 2*4 + k] }
            for (k: …) { out[i*4 + k] = t[k] }           }
          }                                              for (k: …) { out[28 + k] = t[4 + k] }
        }                                              }

    The buffer must be allocated in a serial loop of constant extent, be filled by the annotated part alone, and that part must
    read nothing that the loop stores. Otherwise the annotation goes without effect, and a warning says why.

    Options, here or in the config `tir.InjectDoubleBuffer`:
        split_loop: how many steps the loop takes at a time, 1 or an even number: the last steps follow it, written out; if 0, the
            loop stays whole, and a condition keeps its last step from filling the buffer.
    """

    key: ClassVar[str] = "tir.InjectDoubleBuffer"

    split_loop: int = 1

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        split = self.option(context, "split_loop")
        if split < 0 or (split > 1 and split % 2):
            raise UsageError(f"split_loop is {split}, not 0, 1 or an even number", code=WrongPassOption)

        def report(s: Annotate, reason: str) -> None:
            context.warn(f"{self.name}: @{function.name}: no second half of {s.buffer.name}: {reason}")

        return inject_double_buffers(function, split, report)
