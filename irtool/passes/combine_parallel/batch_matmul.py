"""CombineParallelBatchMatmul: batched products with the same left operand become one."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Call, Expr, Function, Module
from ...ops.base import call
from ..core.base import FunctionPass, register_pass
from ..core.context import PassContext
from .branches import Combiner, Group, combine_parallel, concatenate, extent, take_slice, tensor


@register_pass("CombineParallelBatchMatmul", level=4, required=("InferType",))
@dataclass(frozen=True)
class CombineParallelBatchMatmul(FunctionPass):
    """Combines parallel batched matrix products and subsequent elementwise operators.

    ::

        (nn.batch_matmul(%x, %w1), nn.batch_matmul(%x, %w2))
            ⇒  %0 = nn.batch_matmul(%x, concatenate((%w1, %w2), axis=1))
               (strided_slice(%0, …), strided_slice(%0, …))

    Only products whose right operand is stored transposed, which is the default.

    Options:
        min_num_branches: minimum number of parallel products to combine.
    """

    min_num_branches: int = 3

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return combine_parallel(function, _BatchMatmul(), self.min_num_branches)


class _BatchMatmul(Combiner):
    operator = "nn.batch_matmul"

    def is_supported(self, e: Call) -> bool:
        """True if it is known how many columns the product has; the batch may be open."""
        return isinstance(tensor(e.args[1]).shape[1], int)

    def are_compatible(self, a: Call, b: Call) -> bool:
        if any(e.attrs.transpose_a or not e.attrs.transpose_b for e in (a, b)):
            return False
        left, right = tensor(a.args[1]), tensor(b.args[1])
        return (
            left.dtype == right.dtype
            and tensor(a).dtype == tensor(b).dtype
            and len(left.shape) == len(right.shape) == 3
            and left.shape[0] == right.shape[0]
            and a.attrs.out_dtype == b.attrs.out_dtype
        )

    def combine(self, branches: Group) -> Call:
        first = branches[0][0]
        weight = concatenate([b[0].args[1] for b in branches], 1)
        return call(
            "nn.batch_matmul",
            first.args[0],
            weight,
            out_dtype=first.attrs.out_dtype,
            transpose_a=first.attrs.transpose_a,
            transpose_b=first.attrs.transpose_b,
        )

    def is_arg_compatible(self, branches: Group, a: Call, b: Call, index: int) -> bool:
        """Operands that are concatenated along the last axis must not be broadcast along it, and agree in all others."""
        left, right = tensor(a.args[index]), tensor(b.args[index])
        if left.dtype != right.dtype or left.shape[:-1] != right.shape[:-1]:
            return False
        return all(_spans_features(e, index) for e in (a, b))

    def joined_axis(self, branches: Group) -> int:
        return -1

    def combine_args(self, branches: Group, depth: int, index: int, parent: int) -> Expr:
        return concatenate([b[depth].args[index] for b in branches], -1)

    def split(self, combined: Expr, branches: Group, depth: int) -> list[Expr]:
        parts: list[Expr] = []
        begin = 0
        for branch in branches:
            features = extent(branch[0].args[1], 1)
            parts.append(take_slice(combined, [0, 0, begin], [-1, -1, features]))
            begin += features
        return parts


def _spans_features(e: Call, index: int) -> bool:
    shape = tensor(e.args[index]).shape
    return len(shape) > 0 and shape[-1] == tensor(e).shape[-1]
