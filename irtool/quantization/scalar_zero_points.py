"""Zero points that are all zero as one number, which kernels need not subtract."""

from __future__ import annotations

from ..deferred import np
from ..ir import Call, Constant, Expr, Function, rewrite
from ..ops.base import is_call_to
from ..passes.core.constants import has_data, scalar_constant


def with_single_zeros(function: Function) -> Function:
    """The function with zeros by channel as scalars, where quantized operators and `maximum` take them.

    ::

        qnn.requantize(%x, scales, zeros, …)   ⇒  qnn.requantize(%x, scales, 0, …)
        maximum(%x, zeros)                     ⇒  maximum(%x, 0)
    """
    memo: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if not is_call_to(new, "qnn.requantize", "qnn.dequantize", "maximum"):
            return new
        args = tuple(_single(a, memo) if n else a for n, a in enumerate(new.args))
        return new if args == new.args else Call(new.op, args, new.attrs, new.type_args, new.span)

    return rewrite(function, leave)


def _single(e: Expr, memo: dict[Expr, Expr]) -> Expr:
    if e not in memo:
        zeros = isinstance(e, Constant) and has_data(e) and e.dtype == "int32" and not e.is_scalar
        memo[e] = scalar_constant(0, "int32") if zeros and not np.any(e.data) else e  # type: ignore[attr-defined]  # a constant
    return memo[e]
