"""tir.VectorizeLoop: moves vectorized loops right around the stores in them, where backends make vectors of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from ..tir.vectorize_loop import devectorize_loops, vectorize_loops
from .prim_func_pass import PrimFuncPass


@register_pass("tir.VectorizeLoop", aliases=("VectorizeLoop",))
@dataclass(frozen=True)
class VectorizeLoop(PrimFuncPass):
    """Moves vectorized loops directly around their stores, where backends turn them into vectors.

    ::

        for (i: int32, 0, 8) "vectorized" {                for (k: int32, 0, 4) {
          for (k: int32, 0, 4) {                             for (i: int32, 0, 8) "vectorized" {
            out[((k*8) + i)] = x[((k*8) + i)]       ⇒         out[((k*8) + i)] = x[((k*8) + i)]
          }                                                  }
        }                                                  }

    A loop becomes serial if one step may access memory written by another, or if it contains conditions or allocations that
    depend on the step. The text has no vector values: a loop of this form stands for one.

    Options:
        enable_vectorize: if False, make vectorized loops serial.
    """

    enable_vectorize: bool = True

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return vectorize_loops(function) if self.enable_vectorize else devectorize_loops(function)
