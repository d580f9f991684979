"""Identities of arithmetic. Each says on which dtypes it is exact: on NaN, infinities, zeros of either sign, the largest numbers."""

from __future__ import annotations

import math

from ...deferred import np
from ...ir import Call, Constant, Expr, Op, TensorType, Type
from ...ops.base import Pattern, call
from ...ops.binary import Binary
from ...ops.conversion import convert
from ...ops.dtypes import has_arrays, is_float
from ..core.constants import has_data, scalar_constant, single_value, to_array
from ..dataflow import DFPattern, PatternMatch, RewriteRule, is_constant, is_op, wildcard

LEAST_NORMAL, LARGEST_SCALE = 2.0**-126, 2.0**94
"""Multiples up to 2^32 of scales between these are normal numbers of float32."""
_NEUTRAL = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}


def reciprocal_root() -> RewriteRule:
    """`y / sqrt(x) ⇒ y * rsqrt(x)`. Of floats, which it rounds differently: by two units in the last place at most."""
    x, numerator = wildcard(), wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        return call("multiply", match[numerator], call("rsqrt", match[x]))

    return RewriteRule(is_op("divide")(numerator, is_op("sqrt")(x)), replace)


def identity() -> RewriteRule:
    """`x + 0`, `x - 0`, `x * 1`, `x / 1 ⇒ x`, where that does not change the shape.

    Exact on all dtypes: of floats, the zero that is added has to be negative, and the one that is subtracted positive, because
    `-0 + 0` is 0. TVM drops a 0 that is added, too.
    """
    x, constant = wildcard(), is_constant()
    zero = is_op("zeros")() | is_op("zeros_like")(wildcard()) | constant
    one = is_op("ones")() | is_op("ones_like")(wildcard()) | constant
    pattern = is_op("add")(x, zero) | is_op("multiply")(x, one) | is_op("subtract")(x, zero) | is_op("divide")(x, one)

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        value = single_value(match[constant]) if constant in match else 1 if one in match else 0
        if value != _NEUTRAL[before.op_name] or _changes_zeros(before, value):
            return after
        return match[x] if _type_of_other(before, after, match[x]) == before.checked_type else after

    return RewriteRule(pattern, replace)


def _changes_zeros(e: Call, value: float) -> bool:
    """True if adding or subtracting that zero makes another zero of one of a float."""
    if value or not isinstance(e.checked_type, TensorType) or not is_float(e.checked_type.dtype):
        return False
    return (math.copysign(1, value) > 0) == (e.op_name == "add")


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
        return Call(before.op, args, before.attrs, before.type_args)

    return RewriteRule(broadcast(any_full, x) | broadcast(x, any_full), replace)


def consecutive_additions() -> RewriteRule:
    """`(x + c1) + c2 ⇒ x + (c1 + c2)`, so that the constants can be folded.

    Exact on integers. Of floats, which it rounds differently, by a unit in the last place of `c1 + c2` at most: only where the
    constants do not cancel each other, as those do that round `x`, and their sum is finite.
    """
    x, first, second = wildcard(), is_constant(), is_constant()
    add = is_op("add")

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        inner = before.args[0] if isinstance(before.args[1], Constant) else before.args[1]
        assert isinstance(inner, Call)
        if all(isinstance(a, Constant) for a in inner.args) or not _add_up(match[first], match[second]):
            return after
        return call("add", match[x], call("add", match[first], match[second]))

    return RewriteRule(add(add(x, first), second), replace)


def _add_up(a: Expr, b: Expr) -> bool:
    """True if two constants are integers, or floats of the same signs whose sum is finite."""
    assert isinstance(a, Constant) and isinstance(b, Constant)
    if not is_float(a.dtype):
        return True
    if not (has_data(a) and has_data(b)):
        return False
    x, y = to_array(a), to_array(b)
    with np.errstate(all="ignore"):
        total = convert(x + y, a.dtype)
        return bool((np.signbit(x) == np.signbit(y)).all() and np.isfinite(total.astype("float64")).all())


def position_of_dequantized(name: str) -> RewriteRule:
    """`argmax(dequantize(x)) ⇒ argmax(x)`: one positive scale does not move the largest element.

    Exact on integers of at most 16 bits: products of wider ones are rounded, so that different ones may become equal.
    """
    x, scale = wildcard(), is_constant()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        t, factor = match.type_of(x), single_value(match[scale])
        assert isinstance(t, TensorType)
        if t.dtype == "int32" or factor is None or not LEAST_NORMAL <= factor < LARGEST_SCALE:
            return after
        return Call(before.op, (match[x],), before.attrs)

    return RewriteRule(is_op(name)(is_op("qnn.dequantize")(x, scale, wildcard())), replace)
