"""GELU by the error function, written in any order."""

from __future__ import annotations

import math

from ....ir import Call, Expr, TensorType
from ....ops.base import call, is_call_to
from ....passes.core.constants import scalar_constant, single_value
from ....passes.dataflow import PatternMatch, RewriteRule, is_constant, is_op, wildcard


def gelu() -> RewriteRule:
    """`x * (erf(x / sqrt(2)) + 1) * 0.5 ⇒ (x * 0.5) * (erf(x * sqrt(0.5)) + 1)`: a product for the quotient."""
    x, root, one, half = wildcard(), is_constant(), is_constant(), is_constant()
    inside = is_op("divide")(x, root) | is_op("multiply")(x, root)
    factor = is_op("add")(is_op("erf")(inside), one)
    pattern = (
        is_op("multiply")(is_op("multiply")(x, factor), half)
        | is_op("multiply")(x, is_op("multiply")(factor, half))
        | is_op("multiply")(is_op("multiply")(x, half), factor)
    )

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t = match.type_of(x)
        if not isinstance(t, TensorType) or before.checked_type != t or t.dtype not in ("float32", "float64"):
            return after
        numbers = [single_value(match[c]) for c in (root, one, half)]
        divided = is_call_to(match[inside], "divide")
        expected = [math.sqrt(2) if divided else math.sqrt(0.5), 1.0, 0.5]
        if any(n is None or abs(n - w) > 1e-6 * w for n, w in zip(numbers, expected, strict=True)):
            return after
        if not divided and _is_canonical(after, match[x]):
            return after
        scaled = call("multiply", match[x], scalar_constant(math.sqrt(0.5), t.dtype))
        summed = call("add", call("erf", scaled), scalar_constant(1.0, t.dtype))
        return call("multiply", call("multiply", match[x], scalar_constant(0.5, t.dtype)), summed)

    return RewriteRule(pattern, replace)


def _is_canonical(e: Expr, x: Expr) -> bool:
    """True if the first factor is half of x."""
    first = e.args[0] if isinstance(e, Call) else e
    return isinstance(first, Call) and x in first.args and any(single_value(a) == 0.5 for a in first.args)
