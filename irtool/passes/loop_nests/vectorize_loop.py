"""tir.VectorizeLoop: moves vectorized loops right around the stores in them, where backends make vectors of them."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ...tir.stmt import PrimFunc
from ...tir.transforms.vectorize_loop import devectorize_loops, vectorize_loops
from ..base import register_pass
from ..context import PassContext
from ..prim_func_pass import PrimFuncPass


@register_pass("tir.VectorizeLoop", aliases=("VectorizeLoop",))
@dataclass(frozen=True)
class VectorizeLoop(PrimFuncPass):
    """Moves vectorized loops right around the stores in them, where backends make vectors of them.

    ::

        for (i: int32, 0, 8) "vectorized" {                for (k: int32, 0, 4) {
          for (k: int32, 0, 4) {                             for (i: int32, 0, 8) "vectorized" {
            out[((k*8) + i)] = x[((k*8) + i)]       ⇒         out[((k*8) + i)] = x[((k*8) + i)]
          }                                                  }
        }                                                  }

    Where a step may touch what another one writes, and around conditions and allocations that differ from step to step, a loop
    becomes serial. Vectors themselves have no text here: a loop of this form is one.

    Options:
        enable_vectorize: False: vectorized loops become serial.
    """

    enable_vectorize: bool = True

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return vectorize_loops(function) if self.enable_vectorize else devectorize_loops(function)
