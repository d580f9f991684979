"""tir.FlattenBuffer: gives buffers one dimension: every index becomes the place in memory that it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.flatten import flatten
from ..tir.stmt import Allocate, PrimFunc, pre_order
from .prim_func_pass import PrimFuncPass


@register_pass("tir.FlattenBuffer", aliases=("FlattenBuffer",))
@dataclass(frozen=True)
class FlattenBuffer(PrimFuncPass):
    """Flattens buffers to one dimension: indices become linear offsets.

    ::

        out[i, j] = x[j, i]    ⇒    out[((i*8) + j)] = x[((j*4) + i)]

    `preflattened_buffer_map` keeps the shapes that callers pass. Nests from LowerTE have this form already.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        allocated = [s.buffer for s in pre_order(function.body) if isinstance(s, Allocate)]
        if all(b.ndim == 1 for b in (*function.params, *allocated)):
            return function
        return flatten(function)
