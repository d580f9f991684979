"""Layer normalization, from the parts that PyTorch's exporter writes up to opset 16, and that models write themselves."""

from __future__ import annotations

from typing import Any

from ....deferred import np
from ....ir import Call, Expr, TensorType
from ....ops.base import call
from ....passes.core.constants import array_constant, single_value
from ....passes.dataflow import DFPattern, PatternMatch, RewriteRule, is_constant, is_op, wildcard


def layer_norm() -> RewriteRule:
    """`(x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + epsilon) ⇒ nn.layer_norm(x, 1s, 0s, scale=False, center=False)`.

    Both means are along one axis; the quotient may be a product with `rsqrt`. The difference may be there twice.
    """
    x, epsilon = wildcard(), is_constant()
    means = [is_op("mean")(x) for _ in range(2)]
    differences = [is_op("subtract")(x, m) for m in means]
    square = is_op("multiply")(differences[0], differences[0])
    variance = is_op("mean")(square)
    inside = is_op("add")(variance, epsilon)
    quotient: DFPattern = is_op("divide")(differences[1], is_op("sqrt")(inside))
    product: DFPattern = is_op("multiply")(differences[1], is_op("rsqrt")(inside))

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t, number = match.type_of(x), single_value(match[epsilon])
        axis = _axis_of([match[m] for m in (*means, variance) if m in match], t)
        if axis is None or number is None or not isinstance(t, TensorType) or before.checked_type != t:
            return after
        n = t.shape[axis]
        if not isinstance(n, int) or not t.dtype.startswith("float"):
            return after
        ones, zeros = (array_constant(np.full((n,), v), t.dtype) for v in (1, 0))
        shown = float(str(np.float32(number))) if t.dtype != "float64" else float(number)
        last_axis = -1 if axis == len(t.shape) - 1 else axis
        return call("nn.layer_norm", match[x], ones, zeros, axis=last_axis, epsilon=shown, center=False, scale=False)

    return RewriteRule(quotient | product, replace)


def _axis_of(means: list[Expr], t: Any) -> int | None:
    """The one axis along which all of them are taken, kept with extent 1; None if there is no such axis."""
    if not isinstance(t, TensorType):
        return None
    axes = set()
    for m in means:
        assert isinstance(m, Call)
        a: Any = m.attrs
        if not a.keepdims or a.exclude or a.axis is None or len(a.axis) != 1:
            return None
        axes.add(int(a.axis[0]) % len(t.shape))
    return axes.pop() if len(axes) == 1 else None


def scaled_layer_norm() -> RewriteRule:
    """`nn.layer_norm(x, 1s, 0s, scale=False) * gamma ⇒ nn.layer_norm(x, gamma, 0s)`."""
    return _with_parameter("multiply", "scale")


def shifted_layer_norm() -> RewriteRule:
    """`nn.layer_norm(x, gamma, 0s, center=False) + beta ⇒ nn.layer_norm(x, gamma, beta)`."""
    return _with_parameter("add", "center")


def _with_parameter(operator: str, attribute: str) -> RewriteRule:
    x, gamma, beta, p = wildcard(), wildcard(), wildcard(), wildcard()
    norm = is_op("nn.layer_norm")(x, gamma, beta).has_attr(**{attribute: False, "center": False})

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t, param_type = match.type_of(x), match.type_of(p)
        if not isinstance(t, TensorType) or not isinstance(param_type, TensorType) or before.checked_type != t:
            return after
        norm_call = match[norm]
        assert isinstance(norm_call, Call)
        attrs: Any = norm_call.attrs
        axis = attrs.axis % len(t.shape)
        vector = along_axis(match[p], param_type, t, axis)
        if vector is None:
            return after
        args = [match[x], vector, match[beta]] if attribute == "scale" else [match[x], match[gamma], vector]
        settings = {"scale": attrs.scale, "center": attrs.center, attribute: True}
        return call("nn.layer_norm", *args, axis=attrs.axis, epsilon=attrs.epsilon, **settings)

    return RewriteRule(is_op(operator)(norm, p), replace)


def along_axis(e: Expr, param_type: TensorType, t: TensorType, axis: int) -> Expr | None:
    """A parameter that broadcasts to `t` and differs along one axis only, as a vector; None for any other."""
    shape = (1,) * (len(t.shape) - len(param_type.shape)) + tuple(param_type.shape)
    if len(shape) != len(t.shape) or param_type.dtype != t.dtype:
        return None
    if any(d != (t.shape[i] if i == axis else 1) for i, d in enumerate(shape)):
        return None
    return e if len(param_type.shape) == 1 else call("reshape", e, newshape=[shape[axis]])
