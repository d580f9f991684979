"""DenseToSparse: dense layers whose weights are given in blocks of a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Call, Expr, Function, Module
from ..ops.base import call
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.replaced_weights import by_name, with_sparse_weights


@register_pass("DenseToSparse", level=4, required=("InferType",))
@dataclass(frozen=True)
class DenseToSparse(FunctionPass):
    """Replaces dense layers by sparse ones with block-sparse weights (BSR).

    ::

        def @main(%x, %w: Tensor[(768, 128), float32]) { nn.dense(%x, %w) }
                with weight_name=["w"], weight_shape=[[308, 32, 1, 308, 25]]
            ⇒  def @main(%x, %w.data: Tensor[(308, 32, 1), float32], %w.indices: Tensor[(308), int32],
                         %w.indptr: Tensor[(25), int32]) { nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr) }

    `weight_shape` holds for each weight the three extents of its blocks, the number of indices, and of row pointers.
    """

    changes: ClassVar[str] = "interface"

    weight_name: tuple[str, ...]
    weight_shape: tuple[tuple[int, ...], ...]

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        known = by_name(self.weight_name, self.weight_shape, (5,))

        def sparse(data: Expr, *weight: Expr) -> Call:
            return call("nn.sparse_dense", data, *weight, sparse_lhs=False)

        return with_sparse_weights(function, "nn.dense", known, sparse)
