"""DivToMul: divisions by constants are multiplications."""

from __future__ import annotations

from dataclasses import dataclass

from ..deferred import np
from ..ir import Constant, Expr, Function, Module, rewrite
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.constants import has_data
from .core.context import PassContext

_DTYPES = ("float16", "float32", "float64")


@register_pass("DivToMul", level=0, required=("InferType", "FoldConstant"))
@dataclass(frozen=True)
class DivToMul(FunctionPass):
    """Replaces divisions by constants by multiplications with the reciprocals; in TVM since 0.11.

    ::

        divide(%x, 4f)           ⇒  multiply(%x, 0.25f)
        divide(%x, 0f)           ⇒  as it was: a reciprocal that is not finite would give other results
        divide(%x, 4)            ⇒  as it was: integers have no reciprocals

    Divisors of float16, float32 and float64 are replaced, tensors element by element. Reciprocals are rounded
    (except powers of two), so results differ in the last digit.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _leave)


def _leave(old: Expr, new: Expr) -> Expr:
    if not is_call_to(new, "divide"):
        return new
    numerator, divisor = new.args
    reciprocal = _reciprocal(divisor)
    return new if reciprocal is None else call("multiply", numerator, reciprocal, span=new.span)


def _reciprocal(e: Expr) -> Constant | None:
    """The constant `1 / e`, formed in float64 and rounded; None unless `e` is a constant and every element of that is finite."""
    if not isinstance(e, Constant) or not has_data(e) or e.dtype not in _DTYPES:
        return None
    data = np.asarray(e.data)
    with np.errstate(all="ignore"):
        inverse = np.asarray(1.0 / data.astype(np.float64))
        if e.dtype == "float16":  # by way of float32, as TVM does
            inverse = inverse.astype(np.float32)
        rounded = np.asarray(inverse).astype(data.dtype)
    return Constant(rounded, e.dtype) if np.isfinite(rounded).all() else None
