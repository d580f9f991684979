"""tir.StorageRewrite: lays buffers that are not in use at one time into one piece of memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Module
from ..passes.core.base import register_pass
from ..passes.core.context import PassContext
from ..tir.stmt import PrimFunc
from .prim_func_pass import PrimFuncPass
from .transforms.storage_rewrite import share_storage


@register_pass("tir.StorageRewrite", aliases=("StorageRewrite",))
@dataclass(frozen=True)
class StorageRewrite(PrimFuncPass):
    """Shares memory among buffers with disjoint lifetimes.

    ::

        allocate(a: …, float32, [64]), storage_scope = global;        allocate(a: …, float32, [64]), storage_scope = global;
        allocate(b: …, float32, [64]), storage_scope = global;        allocate(b: …, float32, [64]), storage_scope = global {
        allocate(c: …, float32, [48]), storage_scope = global {         for (…) { a_1[i] = x[i] }
          for (…) { a_1[i] = x[i] }                             ⇒      for (…) { b_1[i] = a_1[i] }
          for (…) { b_1[i] = a_1[i] }                                   for (…) { a_1[i] = b_1[i] }
          for (…) { c_1[i] = b_1[i] }                                   for (…) { out[i] = a_1[i] }
          for (…) { out[i] = c_1[i] }                                 }
        }

    Buffers share memory if their dtype and scope are the same, and if one is at most 16 times as large as the other. Compiled
    programs place what is left by their lifetimes, in any case.
    """

    def transform(self, function: PrimFunc, module: Module, context: PassContext) -> PrimFunc:
        return share_storage(function)
