"""DefuseOps: kernels become operators again."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Expr, Function, Module, rewrite
from .core.base import FunctionPass, register_pass
from .core.beta_reduction import BetaReducer, reduce_literals
from .core.context import PassContext


@register_pass("DefuseOps", level=3, required=("InferType",))
@dataclass(frozen=True)
class DefuseOps(FunctionPass):
    """Inlines function literals that are called directly: the inverse of FuseOps.

    ::

        fn (%p0, Primitive=1) { nn.relu(add(%p0, 1f)) }(%x)   ⇒   nn.relu(add(%x, 1f))
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        reducer = BetaReducer()

        def leave(old: Expr, new: Expr) -> Expr:
            if isinstance(old, Call) and isinstance(new, Call) and isinstance(new.op, Function):
                return reducer.body(new.op, new.args, old)
            return new

        return rewrite(reduce_literals(function), leave)
