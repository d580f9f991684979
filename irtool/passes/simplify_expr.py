"""SimplifyExpr: identities of arithmetic, casts, reshapes and transposes, until none applies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .dataflow import RewriteRule, rewrite_patterns
from .simplify import arithmetic, casts, concretize, movement


@register_pass("SimplifyExpr", level=0, required=("InferType",))
@dataclass(frozen=True)
class SimplifyExpr(FunctionPass):
    """Rewrites expressions to simpler, equivalent ones until nothing changes.

    ::

        zeros_like(%x), reshape_like(%x, %y) …     ⇒  zeros(shape=…), reshape(%x, newshape=…) …
        divide(%y, sqrt(%x))                       ⇒  multiply(%y, rsqrt(%x))
        subtract(%x, 0f), multiply(%x, 1f) …       ⇒  %x
        reshape(reshape(%x)), transpose(transpose(%x))  ⇒  one of them, or %x
        cast(%x: float32, dtype="float32")         ⇒  %x
        cast(cast(%x, dtype="float64"), …)         ⇒  cast(%x, …)
        multiply(%x, full(2f, shape=…))            ⇒  multiply(%x, 2f)
        add(add(%x, 1f), 2f)                       ⇒  add(%x, add(1f, 2f))
        argmax(qnn.dequantize(%x, …))              ⇒  argmax(%x)

    All rewrites are exact, on NaN, infinities and zeros of either sign, but two: those of square roots and of consecutive
    additions round floats differently. TVM also drops 0 that is added to floats, which makes 0 of -0, and casts that round.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite_patterns(rules(), function, module)


@lru_cache(maxsize=1)
def rules() -> tuple[RewriteRule, ...]:
    """The rewrites, in the order in which they are tried."""
    return (
        *concretize.rules(),
        arithmetic.reciprocal_root(),
        arithmetic.identity(),
        movement.consecutive_reshapes(),
        movement.consecutive_transposes(),
        casts.same_cast(),
        casts.consecutive_casts(),
        arithmetic.filled(),
        arithmetic.consecutive_additions(),
        *(arithmetic.position_of_dequantized(name) for name in ("argmax", "argmin", "argsort")),
    )
