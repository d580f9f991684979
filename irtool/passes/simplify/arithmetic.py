"""Identities of arithmetic."""

from __future__ import annotations

from ...ir import Call, Constant, Expr, Op, TensorType, Type
from ...ops.base import Pattern, call
from ...ops.binary import Binary
from ...ops.dtypes import has_arrays
from ..constants import scalar_constant, single_value
from ..dataflow import DFPattern, PatternMatch, RewriteRule, is_constant, is_op, wildcard

_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}


def reciprocal_root() -> RewriteRule:
    """`y / sqrt(x) ⇒ y * rsqrt(x)`. Rounds differently."""
    x, numerator = wildcard(), wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        return call("multiply", match[numerator], call("rsqrt", match[x]))

    return RewriteRule(is_op("divide")(numerator, is_op("sqrt")(x)), replace)


def identity() -> RewriteRule:
    """`x + 0`, `x - 0`, `x * 1`, `x / 1 ⇒ x`, where that does not change the shape."""
    x, constant = wildcard(), is_constant()
    zero = is_op("zeros")() | is_op("zeros_like")(wildcard()) | constant
    one = is_op("ones")() | is_op("ones_like")(wildcard()) | constant
    pattern = is_op("add")(x, zero) | is_op("multiply")(x, one) | is_op("subtract")(x, zero) | is_op("divide")(x, one)

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        if constant in match and single_value(match[constant]) != _NEUTRAL[before.op_name]:
            return after
        return match[x] if _type_of_other(before, after, match[x]) == before.checked_type else after

    return RewriteRule(pattern, replace)


def _type_of_other(before: Expr, after: Expr, x: Expr) -> Type | None:
    """The type of operand `x` of a binary call."""
    assert isinstance(before, Call) and isinstance(after, Call)
    return before.args[1 if after.args[1] is x else 0].checked_type


def filled() -> RewriteRule:
    """`x + full(c) ⇒ x + c` (and for any other operator on pairs of elements), where `x` decides the shape.

    That an operator is fused as a broadcasting one does not make it such: the bias of `bias_add` has a shape of its own.
    """
    x, data, value = wildcard(), wildcard(), is_constant()
    full: DFPattern = is_op("full")(value) | is_op("full_like")(data, value)
    ones: DFPattern = is_op("ones")() | is_op("ones_like")(data)
    zeros: DFPattern = is_op("zeros")() | is_op("zeros_like")(data)
    broadcast = wildcard().has_attr(TOpPattern=int(Pattern.BROADCAST))
    any_full = full | ones | zeros

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call) and isinstance(after, Call)
        result = before.checked_type
        if not (isinstance(after.op, Op) and issubclass(after.op.operator, Binary)):
            return after
        if not isinstance(result, TensorType) or _type_of_other(before, after, match[x]) != result:
            return after
        if full in match:
            fill = match[value]
            if not (isinstance(fill, Constant) and fill.is_scalar and fill.dtype == result.dtype):
                return after
        else:
            if not has_arrays(result.dtype):
                return after
            fill = scalar_constant(1 if ones in match else 0, result.dtype)
        args = (fill, match[x]) if after.args[1] is match[x] else (match[x], fill)
        return Call(before.op, args, before.attrs, before.type_args, before.span)

    return RewriteRule(broadcast(any_full, x) | broadcast(x, any_full), replace)


def consecutive_additions() -> RewriteRule:
    """`(x + c1) + c2 ⇒ x + (c1 + c2)`, so that the constants can be folded. Rounds differently."""
    x, first, second = wildcard(), is_constant(), is_constant()
    add = is_op("add")

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        inner = before.args[0] if isinstance(before.args[1], Constant) else before.args[1]
        assert isinstance(inner, Call)
        if all(isinstance(a, Constant) for a in inner.args):
            return after
        return call("add", match[x], call("add", match[first], match[second]))

    return RewriteRule(add(add(x, first), second), replace)


def position_of_dequantized(name: str) -> RewriteRule:
    """`argmax(dequantize(x)) ⇒ argmax(x)`: scaling does not move the largest element."""
    x = wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        return Call(before.op, (match[x],), before.attrs)

    return RewriteRule(is_op(name)(is_op("qnn.dequantize")(x, wildcard(), wildcard())), replace)
