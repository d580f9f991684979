"""tir.InjectPrefetch: prefetches the reads of an annotated part of a loop for a later step."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import Annotate, PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.inject_prefetch import inject_prefetches


@register_pass("tir.InjectPrefetch", aliases=("InjectPrefetch",))
@dataclass(frozen=True)
class InjectPrefetch(PrimFuncPass):
    """Replaces `prefetch_scope` annotations by prefetches of their body's reads, some steps of the loop ahead.

    ::

        for (i: int32, 0, 64) {                            for (i: int32, 0, 64) {
          attr [x] "prefetch_scope" = 4;                     prefetch(x, [((i + 4)*16):(((i + 4)*16) + 1)])
          for (j: int32, 0, 16) {                            for (j: int32, 0, 16) {
            out[((i*16) + j)] = x[((i*16) + j)]      ⇒        out[((i*16) + j)] = x[((i*16) + j)]
          }                                                  }
        }                                                  }

    The value of the annotation is the number of steps of the innermost loop around it. A prefetch asks for one line of the caches
    (64 bytes); parts of several lines are asked for in loops. It may ask for what lies beyond the buffer, which does nothing.

    In C it is `__builtin_prefetch`, in LLVM `llvm.prefetch`. Where the part is not known, since indices come from data, the
    annotation goes without a prefetch, and a warning says so. TVM leaves functions alone that are not from TE schedules; here,
    annotations of all functions count.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        def report(s: Annotate, reason: str) -> None:
            context.warn(f"{self.name}: @{function.name}: no prefetch of {s.buffer.name}: {reason}")

        return inject_prefetches(function, report)
