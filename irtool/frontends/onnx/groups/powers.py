"""Powers that are products, and roots that Relay has."""

from __future__ import annotations

from ....ir import Expr, TensorType
from ....ops.base import call
from ....passes.core.constants import single_value
from ....passes.dataflow import PatternMatch, RewriteRule, is_constant, is_op, wildcard


def small_power() -> RewriteRule:
    """`power(x, 2f) ⇒ multiply(x, x)`, and of the exponent 3: the library's power costs as much as fifty products."""
    x, exponent = wildcard(), is_constant()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        value = single_value(match[exponent])
        if value not in (2, 3) or before.checked_type != match.type_of(x):
            return after
        square = call("multiply", match[x], match[x])
        return square if value == 2 else call("multiply", square, match[x])

    return RewriteRule(is_op("power")(x, exponent), replace)


def reciprocal_root() -> RewriteRule:
    """`divide(1f, sqrt(x)) ⇒ rsqrt(x)`."""
    one, x = is_constant(), wildcard()

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t = match.type_of(x)
        if single_value(match[one]) != 1 or not isinstance(t, TensorType) or before.checked_type != t:
            return after
        return call("rsqrt", match[x])

    return RewriteRule(is_op("divide")(one, is_op("sqrt")(x)), replace)
