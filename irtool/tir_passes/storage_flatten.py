"""tir.StorageFlatten: gives buffers one dimension, with the options that TVM's pass has."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .flatten_buffer import FlattenBuffer
from .prim_func_pass import PrimFuncPass


@register_pass("tir.StorageFlatten", aliases=("StorageFlatten",))
@dataclass(frozen=True)
class StorageFlatten(PrimFuncPass):
    """Flattens buffers to one dimension, as `tir.FlattenBuffer` does.

    ::

        out[i, j] = x[j, i]    ⇒    out[((i*8) + j)] = x[((j*4) + i)]

    TVM has it for functions from TE schedules, and `tir.FlattenBuffer` for others; nests are one kind of function.

    Options, both without effect:
        cache_line_size: bytes of a line of the caches; `tir.InjectPrefetch` has cut prefetches into lines.
        create_bound_attributes: record the extents of buffers, which nests have always.
    """

    cache_line_size: int = 64
    create_bound_attributes: bool = False

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return FlattenBuffer().transform(function, module, context)
