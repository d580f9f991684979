"""Quantized programs as operators on floats between QuantizeLinear and DequantizeLinear, which engines recognise.

Each quantized call that gives 8 bits becomes the operator on dequantized values, quantized again; so does a convolution or product
with its bias, whose int32 sums only exist in front of `qnn.requantize` or `qnn.dequantize`. Engines join these nodes to
integer kernels of their own. They round the real value once: results may differ by one unit from Relay's fixed-point arithmetic, and by
two where Relay rounds both sides of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ...deferred import np
from ...infer import infer_types
from ...ir import Call, Constant, Expr, Module, Op, TensorType, Tuple, rewrite
from ...ops import operators
from ...ops.base import call, is_call_to
from ...ops.qnn.fixed_point import EVEN
from ...passes.core.constants import array_constant, scalar_constant, to_array
from ...passes.legalization.rule import LegalizationSite

BYTES = ("int8", "uint8")
QdqRule = Callable[[LegalizationSite], "Expr | None"]
_RULES: dict[str, QdqRule] = {}


def fake_quantized(module: Module) -> Module:
    """The typed module with quantized calls on floats, where it has a form for that."""
    functions = {n: rewrite(f, _rewritten) for n, f in module.relay_functions.items()}
    quantized = module.with_functions({**module.functions, **functions})
    return module if quantized is module else infer_types(quantized)


def is_linear(s: LegalizationSite) -> bool:
    """True for a `qnn.quantize` that QuantizeLinear is, halves aside: from float32 to 8 bits, by constants."""
    return (
        s.attrs.name == "qnn.quantize"
        and s.tensor(0).dtype == "float32"
        and isinstance(s.type, TensorType)
        and s.type.dtype in BYTES
        and isinstance(s.args[1], Constant)
        and s.tensor(1).shape == s.tensor(2).shape
        and _fits(s.args[2], s.type.dtype)
    )


def _fits(zero: Expr, dtype: str) -> bool:
    info = np.iinfo(dtype)
    return isinstance(zero, Constant) and bool(((info.min <= to_array(zero)) & (to_array(zero) <= info.max)).all())


def _rewritten(old: Expr, new: Expr) -> Expr:
    if not isinstance(new, Call) or not isinstance(new.op, Op) or not isinstance(old, Call):
        return new
    rule = _RULES.get(new.op.name)
    types = tuple(t for a in old.args if (t := a.checked_type) is not None)
    if rule is None or len(types) < len(old.args) or old.checked_type is None:
        return new
    fake = rule(LegalizationSite(new, types, old.checked_type, None))
    return new if fake is None else fake


def _rule(*names: str) -> Callable[[QdqRule], QdqRule]:
    def file(rule: QdqRule) -> QdqRule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return file


def _dequantize(x: Expr, scale: Expr, zero: Expr, axis: int = -1) -> Expr:
    """The real values; one zero point for several scales is repeated for each, as ONNX requires."""
    if isinstance(scale, Constant) and isinstance(zero, Constant) and to_array(scale).shape != to_array(zero).shape:
        zero = array_constant(np.broadcast_to(to_array(zero), to_array(scale).shape), "int32")
    return call("qnn.dequantize", x, scale, zero, axis=axis)


def _quantize(s: LegalizationSite, x: Expr, scale: Expr, zero: Expr, axis: int = -1) -> Expr | None:
    """The result of a call of 8 bits; None for any other."""
    t = s.type
    if (
        not isinstance(t, TensorType)
        or t.dtype not in BYTES
        or not isinstance(scale, Constant)
        or not _fits(zero, t.dtype)
    ):
        return None
    return call("qnn.quantize", x, scale, zero, out_dtype=t.dtype, axis=axis, rounding=EVEN, span=s.call.span)


@_rule("qnn.requantize")
def _requantize(s: LegalizationSite) -> Expr | None:
    x, scale, zero, out_scale, out_zero = s.args
    value = _layer(s, x, scale, zero)
    if value is None:
        value = _dequantize(x, scale, zero, s.attrs.axis)
    return _quantize(s, value, out_scale, out_zero, s.attrs.axis)


@_rule("qnn.dequantize")
def _real_sums(s: LegalizationSite) -> Expr | None:
    return (
        _layer(s, *s.args)
        if s.tensor(0).dtype == "int32" and s.type == TensorType(s.tensor(0).shape, "float32")
        else None
    )


def _layer(s: LegalizationSite, e: Expr, scale: Expr, zero: Expr) -> Expr | None:
    """The real values of int32 sums, computed on floats; None unless they are those of one layer at this scale."""
    if not isinstance(scale, Constant) or not isinstance(zero, Constant) or to_array(zero).any():
        return None
    rank = len(s.tensor(0).shape)
    axis = s.attrs.axis % rank if rank else 0
    bias: list[tuple[Call, Expr]] = []
    while is_call_to(e, "add", "nn.bias_add"):
        e_attrs: Any = e.attrs
        data, b = e.args
        if is_call_to(e, "add") and not is_call_to(data, "add", "nn.bias_add", *_LAYERS):
            data, b = b, data
        t = b.checked_type
        if not isinstance(t, TensorType):
            return None
        along = 0
        if is_call_to(e, "add") and to_array(scale).size > 1:
            along = axis - (rank - len(t.shape))
            if along < 0 or t.shape[along] != to_array(scale).size:
                return None
        elif is_call_to(e, "nn.bias_add") and e_attrs.axis % rank != axis and to_array(scale).size > 1:
            return None
        bias.append((e, _dequantize(b, scale, zero, along)))
        e = data
    value = _product(e, scale) if is_call_to(e, *_LAYERS) else None
    for c, b in reversed(bias if value is not None else []):
        assert value is not None and isinstance(c.op, Op)
        value = call("add", value, b) if c.op.name == "add" else call("nn.bias_add", value, b, axis=c.attrs.axis)  # type: ignore[union-attr]  # an operator's
    return value


_LAYERS = ("qnn.conv2d", "qnn.dense", "qnn.batch_matmul")


def _product(e: Call, scale: Constant) -> Expr | None:
    """A convolution or product on dequantized operands, if its sums are at this scale."""
    assert isinstance(e.op, Op)
    attrs: Any = e.attrs
    x, w, x_zero, w_zero, x_scale, w_scale = e.args[:6]
    t = w.checked_type
    if not isinstance(x_scale, Constant) or not isinstance(w_scale, Constant) or not isinstance(t, TensorType):
        return None
    both = to_array(x_scale) * to_array(w_scale)
    if to_array(x_scale).size > 1 or not np.allclose(to_array(scale), both, rtol=1e-5, atol=0):
        return None
    axis = attrs.kernel_layout.index("O") if e.op.name == "qnn.conv2d" else 0
    if to_array(w_scale).size > 1 and (t.shape[axis] != to_array(w_scale).size or e.op.name == "qnn.batch_matmul"):
        return None
    name = e.op.name.replace("qnn", "nn")
    float_attrs = {f.name for f in operators.get(name).fields()} - {"out_dtype"}
    float_values = {f.name: getattr(attrs, f.name) for f in fields(attrs) if f.name in float_attrs}
    return call(
        name, _dequantize(x, x_scale, x_zero), _dequantize(w, w_scale, w_zero, axis), span=e.span, **float_values
    )


_BINARY = {"qnn.add": "add", "qnn.subtract": "subtract", "qnn.mul": "multiply"}


@_rule(*_BINARY)
def _binary(s: LegalizationSite) -> Expr | None:
    a, b, a_scale, a_zero, b_scale, b_zero, scale, zero = s.args
    left, right = _dequantize(a, a_scale, a_zero, s.attrs.lhs_axis), _dequantize(b, b_scale, b_zero, s.attrs.rhs_axis)
    return _quantize(s, call(_BINARY[s.attrs.name], left, right), scale, zero)


@_rule("qnn.concatenate")
def _concatenate(s: LegalizationSite) -> Expr | None:
    data, scales, zeros, scale, zero = s.args
    if not all(isinstance(a, Tuple) for a in (data, scales, zeros)):
        return None
    parts = zip(data.fields, scales.fields, zeros.fields, strict=True)  # type: ignore[attr-defined]  # tuples
    joined = call("concatenate", Tuple(tuple(_dequantize(*p) for p in parts)), axis=s.attrs.axis)
    return _quantize(s, joined, scale, zero)


@_rule(
    *(f"qnn.{n}" for n in ("abs", "erf", "exp", "hardswish", "leaky_relu", "log", "rsqrt", "sigmoid", "sqrt", "tanh"))
)
def _unary(s: LegalizationSite) -> Expr | None:
    x, in_scale, in_zero, scale, zero = s.args
    name = s.attrs.name.removeprefix("qnn.")
    real = _dequantize(x, in_scale, in_zero)
    if name == "leaky_relu":
        real_result = call("nn.leaky_relu", real, alpha=s.attrs.alpha)
    elif name == "hardswish":
        three = scalar_constant(3.0, "float32")
        gate = call("clip", call("add", real, three), a_min=0.0, a_max=6.0)
        real_result = call("divide", call("multiply", real, gate), scalar_constant(6.0, "float32"))
    else:
        real_result = call(name, real)
    return _quantize(s, real_result, scale, zero)
