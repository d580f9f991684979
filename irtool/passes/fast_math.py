"""FastMath: cheaper, less exact functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..ir import Call, Expr, Function, Module, Op, rewrite
from ..ops.base import call, op
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("FastMath", level=4, required=("InferType",))
@dataclass(frozen=True)
class FastMath(FunctionPass):
    """Replaces exp, erf, tanh and softmax by fast approximations.

    ::

        exp(%x), erf(%x), tanh(%x)     ⇒  fast_exp(%x), fast_erf(%x), fast_tanh(%x)
        nn.softmax(%x, axis=1)         ⇒  nn.fast_softmax(%x, axis=1)

    Results differ by up to a few units in the sixth decimal digit, and the functions saturate instead of overflowing.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 1e-2

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _leave)


def _leave(old: Expr, new: Expr) -> Expr:
    if not isinstance(new, Call) or not isinstance(new.op, Op) or not new.op.operator.fast_form:
        return new
    fast = op(new.op.operator.fast_form).operator
    attrs = {f.name: getattr(new.attrs, f.name) for f in fast.fields() if hasattr(new.attrs, f.name)}
    return call(fast.name, *new.args, **attrs)
