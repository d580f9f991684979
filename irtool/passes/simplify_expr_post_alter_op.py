"""SimplifyExprPostAlterOp: simplifies the expressions that AlterOpLayout makes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .dataflow import RewriteRule, rewrite_patterns
from .simplify import arithmetic, casts, clips, movement


@register_pass("SimplifyExprPostAlterOp", level=0, required=("InferType",))
@dataclass(frozen=True)
class SimplifyExprPostAlterOp(FunctionPass):
    """Simplifies the results of AlterOpLayout and Legalize until nothing changes.

    ::

        subtract(%x, 0f), multiply(%x, 1f) …             ⇒  %x
        reshape(reshape(%x))                             ⇒  reshape(%x)
        cast(%x: float32, dtype="float32")               ⇒  %x
        cast(cast(%x, dtype="float64"), …)               ⇒  cast(%x, …)
        cast(cast(clip(%x: int32, a_min=0f, a_max=255f), dtype="uint8"), dtype="int32")  ⇒  clip(%x, …)
        clip(%x: uint8, a_min=0f, a_max=255f)            ⇒  %x

    All rewrites are exact. TVM also takes floats for integers where they are clipped and cast, which loses fractions. Since TVM
    0.11; it is not part of the pipelines, which are those of 0.10.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite_patterns(rules(), function, module)


@lru_cache(maxsize=1)
def rules() -> tuple[RewriteRule, ...]:
    """The rewrites, in the order in which they are tried."""
    return (
        arithmetic.identity(),
        movement.consecutive_reshapes(),
        casts.same_cast(),
        casts.consecutive_casts(),
        clips.casts_of_clips(),
        clips.idle_clips(),
    )
