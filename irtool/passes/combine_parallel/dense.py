"""CombineParallelDense: dense layers of one input become one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...ir import Call, Expr, Function, Module, Tuple, TupleGetItem
from ...ops.base import call
from ..core.base import FunctionPass, register_pass
from ..core.context import PassContext
from .branches import Combiner, Group, combine_parallel, concatenate, extent, take_slice, tensor


@register_pass("CombineParallelDense", level=4, required=("InferType",))
@dataclass(frozen=True)
class CombineParallelDense(FunctionPass):
    """Combines parallel dense layers and subsequent elementwise operators.

    ::

        (nn.dense(%x, %w1), nn.dense(%x, %w2))
            ⇒  %0 = split(nn.batch_matmul(stack((%x, %x)), stack((%w1, %w2))), 2)          with to_batch
               (squeeze(%0.0), squeeze(%0.1))
            ⇒  %0 = nn.dense(%x, concatenate((%w1, %w2)))                                   without
               (strided_slice(%0, …), strided_slice(%0, …))

    Only layers of matrices become a batch, for a batch has one axis; layers of one wider layer may have any rank.

    Options:
        min_num_branches: minimum number of parallel layers to combine.
        to_batch: stack the layers into a batch (their weights must then have the same shape) or make one wider layer.
    """

    min_num_branches: int = 3
    to_batch: bool = True

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        combiner = _ToBatch() if self.to_batch else _ToDense()
        return combine_parallel(function, combiner, self.min_num_branches)


class _ToBatch(Combiner):
    operator = "nn.dense"

    def is_supported(self, e: Call) -> bool:
        return super().is_supported(e) and len(tensor(e.args[0]).shape) == 2

    def are_compatible(self, a: Call, b: Call) -> bool:
        return a.attrs.out_dtype == b.attrs.out_dtype and tensor(a.args[1]) == tensor(b.args[1])

    def combine(self, branches: Group) -> Call:
        data, weight = (_stack([b[0].args[i] for b in branches]) for i in range(2))
        dtype = branches[0][0].attrs.out_dtype
        return call("nn.batch_matmul", data, weight, out_dtype=dtype, transpose_a=False, transpose_b=True)

    def is_arg_compatible(self, branches: Group, a: Call, b: Call, index: int) -> bool:
        left = tensor(a.args[index])
        return left == tensor(b.args[index]) and left.is_static

    def joined_axis(self, branches: Group) -> None:
        return None

    def combine_args(self, branches: Group, depth: int, index: int, parent: int) -> Expr:
        args = [b[depth].args[index] for b in branches]
        # An operand of a lower rank must broadcast within each layer, not along the layers.
        missing = len(tensor(branches[0][depth]).shape) - len(tensor(args[0]).shape)
        return _stack([call("expand_dims", a, axis=0, num_newaxis=missing) if missing else a for a in args])

    def split(self, combined: Expr, branches: Group, depth: int) -> list[Expr]:
        parts = call("split", combined, indices_or_sections=len(branches), axis=0)
        return [call("squeeze", TupleGetItem(parts, i), axis=[0]) for i in range(len(branches))]


def _stack(parts: list[Expr]) -> Expr:
    return call("stack", Tuple(tuple(parts)), axis=0)


class _ToDense(Combiner):
    operator = "nn.dense"

    def are_compatible(self, a: Call, b: Call) -> bool:
        left, right = tensor(a.args[1]), tensor(b.args[1])
        return a.attrs.out_dtype == b.attrs.out_dtype and left.dtype == right.dtype and left.shape[1] == right.shape[1]

    def joined_axis(self, branches: Group) -> int:
        return -1

    def combine(self, branches: Group) -> Call:
        first = branches[0][0]
        weights = [b[0].args[1] for b in branches]
        units = sum(extent(w, 0) for w in weights)
        return Call(first.op, (first.args[0], concatenate(weights, 0)), replace(first.attrs, units=units))

    def is_arg_compatible(self, branches: Group, a: Call, b: Call, index: int) -> bool:
        left, right = tensor(a.args[index]), tensor(b.args[index])
        if left.dtype != right.dtype or len(left.shape) != len(right.shape):
            return False
        if len(tensor(a).shape) < len(left.shape) or len(tensor(b).shape) < len(right.shape):
            return False
        if any(not isinstance(d, int) for t in (left, right) for d in t.shape[-1:]):
            return False  # an operand that may be broadcast along the units cannot be joined
        return left.shape[:-1] == right.shape[:-1]

    def combine_args(self, branches: Group, depth: int, index: int, parent: int) -> Expr:
        rank = len(tensor(branches[0][depth].args[index]).shape)
        axis = max(rank - 1, 0)
        parts: list[Expr] = []
        for branch in branches:
            width = extent(branch[depth].args[parent], -1)
            arg = branch[depth].args[index]
            repeated = rank == 0 or (width > 1 and tensor(arg).shape[-1] == 1)
            if rank == 0:
                arg = call("expand_dims", arg, axis=-1, num_newaxis=1)
            # What was broadcast along a layer's own units must reach just as far in the wide layer.
            parts.append(call("repeat", arg, repeats=width, axis=axis) if repeated else arg)
        return concatenate(parts, axis)

    def split(self, combined: Expr, branches: Group, depth: int) -> list[Expr]:
        parts: list[Expr] = []
        begin = 0
        for branch in branches:
            others, units = len(tensor(branch[depth]).shape) - 1, extent(branch[depth], -1)
            parts.append(take_slice(combined, [0] * others + [begin], [*[-1] * others, units]))
            begin += units
        return parts
