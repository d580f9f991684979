"""Group normalization, which PyTorch's exporters write as instance normalization of another shape."""

from __future__ import annotations

from typing import Any

from ....deferred import np
from ....ir import Call, Constant, Expr, TensorType
from ....ops.base import call
from ....passes.core.constants import has_data, to_array
from ....passes.dataflow import PatternMatch, RewriteRule, is_op, wildcard
from .layer_norm import along_axis


def group_norm() -> RewriteRule:
    """`reshape(nn.instance_norm(reshape(x, [N, G, -1]), 1s, 0s), [N, C, …]) * gamma + beta ⇒ nn.group_norm(x, gamma, beta)`.

    What the inner normalization multiplies by and adds, if it is not known to be ones and zeros, goes into gamma and beta.
    """
    x, ones, zeros, gamma, beta = wildcard(), wildcard(), wildcard(), wildcard(), wildcard()
    grouped = is_op("reshape")(x)
    norm = is_op("nn.instance_norm")(grouped, ones, zeros)
    pattern = is_op("add")(is_op("multiply")(is_op("reshape")(norm), gamma), beta)

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t, parts = match.type_of(x), match.type_of(grouped)
        if not isinstance(t, TensorType) or not isinstance(parts, TensorType) or before.checked_type != t:
            return after
        norm_call = match[norm]
        assert isinstance(norm_call, Call)
        attrs: Any = norm_call.attrs
        if len(parts.shape) != 3 or len(t.shape) < 3 or parts.shape[0] != t.shape[0] or attrs.axis != 1:
            return after
        groups, channels = parts.shape[1], t.shape[1]
        if not isinstance(groups, int) or not isinstance(channels, int) or channels % groups:
            return after
        vectors = []
        for p in (gamma, beta):
            param_type = match.type_of(p)
            vector = along_axis(match[p], param_type, t, 1) if isinstance(param_type, TensorType) else None
            if vector is None:
                return after
            vectors.append(vector)
        factor, summand = vectors
        if not _is_all(match[zeros], 0):
            summand = call("add", call("multiply", _each(match[zeros], channels // groups), factor), summand)
        if not _is_all(match[ones], 1):
            factor = call("multiply", _each(match[ones], channels // groups), factor)
        return call("nn.group_norm", match[x], factor, summand, num_groups=groups, axis=1, epsilon=attrs.epsilon)

    return RewriteRule(pattern, replace)


def _is_all(e: Expr, value: float) -> bool:
    return isinstance(e, Constant) and has_data(e) and bool(np.all(to_array(e) == value))


def _each(e: Expr, count: int) -> Expr:
    """A number for each channel from one for each group."""
    return call("repeat", e, repeats=count, axis=0)
