"""`*_like` operators become the operators that take a shape, where the shape is known."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Call, Dim, Expr, TensorType, Type
from ...ops.base import call
from ...symbolic_int import Symbol, symbols_of
from ..core.constants import tensor_constant
from ..core.reshaping import reshape_to
from ..dataflow import DFPattern, PatternMatch, RewriteRule, is_op, wildcard

Make = Callable[[tuple[Expr, ...], tuple[Dim, ...], str], Expr]
"""The operator with a shape, from the operands, the shape and the dtype."""


def rules() -> list[RewriteRule]:
    """`zeros_like(x) ⇒ zeros(shape=x.shape)`, and so on."""
    return [_rule(name, arity, make) for name, arity, make in _TABLE]


def _rule(name: str, arity: int, make: Make) -> RewriteRule:
    operands: tuple[DFPattern, ...] = tuple(wildcard() for _ in range(arity))

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t = before.checked_type
        if not isinstance(t, TensorType) or not t.is_static:
            return after
        result = make(tuple(match[p] for p in operands), t.shape, t.dtype)
        # A length that a step of the run sets is known only behind that step, which the operand that goes may lead to.
        assert isinstance(result, Call)
        return result if _lengths(before.checked_type) <= _lengths(*(a.checked_type for a in result.args)) else after

    return RewriteRule(is_op(name)(*operands), replace)


def _lengths(*types: Type | None) -> set[Symbol]:
    return {s for t in types if isinstance(t, TensorType) for s in symbols_of(d for d in t.shape if isinstance(d, int))}


def _collapse_sum_to(args: tuple[Expr, ...], shape: tuple[Dim, ...], dtype: str) -> Expr:
    return call("collapse_sum_to", args[0], tensor_constant(shape, "int32"), shape=shape)


_TABLE: tuple[tuple[str, int, Make], ...] = (
    ("zeros_like", 1, lambda args, shape, dtype: call("zeros", shape=shape, dtype=dtype)),
    ("ones_like", 1, lambda args, shape, dtype: call("ones", shape=shape, dtype=dtype)),
    ("full_like", 2, lambda args, shape, dtype: call("full", args[1], shape=shape, dtype=dtype)),
    ("reshape_like", 2, lambda args, shape, dtype: reshape_to(args[0], shape)),
    ("collapse_sum_like", 2, _collapse_sum_to),
    ("broadcast_to_like", 2, lambda args, shape, dtype: call("broadcast_to", args[0], shape=shape)),
)
