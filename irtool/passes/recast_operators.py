"""recast: chosen operators compute in another data type."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import IrError, UsageError
from ..ir import Call, Expr, Function, Module, TensorType, Tuple, rewrite
from ..ir.expr import children
from ..ops.base import attributes_of, call, is_call_to
from ..ops.dtypes import has_arrays
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.option_values import require_operator


@register_pass("recast", level=0, required=("InferType",))
@dataclass(frozen=True)
class Recast(FunctionPass):
    """Casts the arguments of chosen operators to a data type, and their results back.

    ::

        nn.conv2d(%x, %w, out_dtype="")     with dtype="int8" out_dtype="int32"
            ⇒  cast(nn.conv2d(cast(%x, dtype="int8"), cast(%w, dtype="int8"), out_dtype="int32"), dtype="float32")

    Values are cast as they are: the pass shows what a program costs in another type, not what it computes.

    Options:
        dtype: data type of the arguments; of the fields, where an argument is a tuple.
        out_dtype: the value of the attribute of that name, for operators that have it.
        ops: the operators.
        skip_layers: which of them stay. Layers are counted from the inputs, the first is 0; negative numbers count from the
            last. Operators with equally many others between them and the result are one layer; of several paths to the result,
            the one that is first in the order of arguments counts, as in TVM.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = math.inf  # of integers nothing is left but shapes and types

    dtype: str
    out_dtype: str
    ops: tuple[str, ...] = ("nn.conv2d",)
    skip_layers: tuple[int, ...] = ()

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        for name in self.ops:
            require_operator(name, "ops")
        for dtype in (self.dtype, self.out_dtype):
            if not has_arrays(dtype):
                raise UsageError(f"there are no tensors of dtype {dtype!r}")
        depths = _depths(function, set(self.ops))
        count = max(depths.values(), default=-1) + 1
        skipped = {i if i >= 0 else count + i for i in self.skip_layers}
        chosen = {e for e, depth in depths.items() if count - depth - 1 not in skipped}
        rewritten = rewrite(function, lambda old, new: self.recast(old, new) if old in chosen else new)
        assert isinstance(rewritten, Function)
        return rewritten

    def recast(self, old: Expr, new: Expr) -> Expr:
        """A chosen call in the other data type. Raises IrError for an operand or result that cannot be cast."""
        assert isinstance(old, Call) and isinstance(new, Call)
        result = old.checked_type
        if not isinstance(result, TensorType):
            raise IrError(f"{old.op_name} gives {result}, which cannot be cast", old.span)
        if any(not isinstance(a.checked_type, TensorType) and not isinstance(a, Tuple) for a in old.args):
            return new
        attributes = attributes_of(new.attrs)
        if "out_dtype" in attributes:
            attributes["out_dtype"] = self.out_dtype
        arguments = [self.argument(a) for a in new.args]
        return call("cast", call(old.op_name, *arguments, span=old.span, **attributes), dtype=result.dtype)

    def argument(self, e: Expr) -> Expr:
        """An argument, or each field of a tuple, cast to `dtype`."""
        if isinstance(e, Tuple):
            return Tuple(tuple(call("cast", f, dtype=self.dtype) for f in e.fields), e.span)
        return call("cast", e, dtype=self.dtype)


def _depths(function: Function, names: set[str]) -> dict[Expr, int]:
    """For each call of one of the operators, how many of them are above it, towards the result, on the first path to it."""
    depths: dict[Expr, int] = {}
    seen: set[Expr] = set()
    waiting: list[tuple[Expr, int]] = [(function, 0)]
    while waiting:
        e, depth = waiting.pop()
        if e in seen:
            continue
        seen.add(e)
        if is_call_to(e, *names):
            depths[e] = depth
            depth += 1
        waiting.extend((child, depth) for child in reversed(children(e)))
    return depths
