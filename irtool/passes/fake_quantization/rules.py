"""Integer forms of operators in a quantized region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Call, Constant, Expr, MissingData, TensorType, Tuple
from ...ops.base import attributes_of, call
from ...ops.layout import Layout
from ...ops.qnn.fixed_point import limits
from ..core.constants import scalar_constant
from .affine import Affine, AffineTuple, AnyAffine, NotSupported, Types, fold, rule, stated_form, tensor_type

Result = tuple[Expr, AnyAffine]


def _requantize(e: Expr, now: Affine, scale: Expr, zero_point: Expr, dtype: str, axis: int) -> Expr:
    return call("qnn.requantize", e, now.scale, now.zero_point, scale, zero_point, out_dtype=dtype, axis=axis)


def _quantize(e: Expr, like: Affine, dtype: str = "int8", axis: int = -1) -> Expr:
    return call("qnn.quantize", e, like.scale, like.zero_point, axis=axis, out_dtype=dtype)


def _shape(e: Expr) -> tuple[Any, ...]:
    from ...infer import infer_expr

    t = e.checked_type or infer_expr(e).checked_type
    if not isinstance(t, TensorType):
        raise NotSupported("a shape is not known")
    return t.shape


def _float_constant(e: Expr) -> Expr:
    """`e`, which must be a constant of a floating-point type, since it is not quantized."""
    if not isinstance(e, Constant) or not e.dtype.startswith(("float", "bfloat")):
        raise NotSupported("an argument is neither quantized nor a constant")
    return e


@rule("qnn.dequantize")
def dequantize(e: Call, types: Types) -> Result:
    """The quantized tensor itself."""
    return e.args[0], types[e]


@rule("qnn.quantize")
def quantize(e: Call, types: Types) -> Result:
    """A requantization; nothing if the tensor is quantized so already."""
    out, scale, zero_point = e.args
    t = tensor_type(types, out)
    now = Affine(fold(t.scale), fold(t.zero_point), t.dtype, t.axis)
    target = Affine(scale, zero_point, e.attrs.out_dtype, e.attrs.axis)
    if not now.looks_like(target):
        out = _requantize(out, now, scale, zero_point, target.dtype, t.axis)
    return out, target


@rule("nn.max_pool2d", "image.resize2d")
def in_place(e: Call, types: Types) -> Result:
    """The same operator on integers: elements stay in their channels."""
    return e, tensor_type(types, e.args[0])


@stated_form("same")
def unchanged(e: Call, types: Types) -> Result:
    """The same operator on integers: it moves or picks elements, and none to a channel of another scale."""
    t = tensor_type(types, e.args[0])
    if any(d != 1 for d in _shape(t.scale)):
        raise NotSupported(f"{e.attrs.name} may move elements to channels of other scales")
    return e, t


@rule("topk")
def topk(e: Call, types: Types) -> Result:
    """The same operator on integers, if only values are asked for."""
    if e.attrs.ret_type != "values":
        raise NotSupported("topk of indices")
    return e, tensor_type(types, e.args[0])


@rule("split", alone=True)
def split(e: Call, types: Types) -> Result:
    """The same operator on integers."""
    sections = e.attrs.indices_or_sections
    count = int(sections) if isinstance(sections, int) else len(sections) + 1
    return e, AffineTuple((tensor_type(types, e.args[0]),) * count)


@rule("broadcast_to", alone=True)
def broadcast_to(e: Call, types: Types) -> Result:
    """The same operator on integers."""
    return call("broadcast_to", e.args[0], shape=e.attrs.shape, dtype=""), tensor_type(types, e.args[0])


@rule("nn.adaptive_avg_pool1d")
def adaptive_average_pool(e: Call, types: Types) -> Result:
    """The average in int32, in terms of the result."""
    return _average(e, types, output_size=e.attrs.output_size)


@rule("nn.avg_pool2d", alone=True)
def average_pool(e: Call, types: Types) -> Result:
    """The average in int32, in terms of the result."""
    zero = _single(fold(tensor_type(types, e).zero_point))
    if e.attrs.count_include_pad and any(p != 0 for p in e.attrs.padding) and zero != 0:
        raise NotSupported("padding that counts is 0, which is not the zero point")
    return _average(e, types, **attributes_of(e.attrs))


@rule("nn.global_avg_pool2d", alone=True)
def global_average_pool(e: Call, types: Types) -> Result:
    """The average in int32, in terms of the result."""
    return _average(e, types)


def _average(e: Call, types: Types, **attrs: Any) -> Result:
    x = e.args[0]
    t, out = tensor_type(types, x), tensor_type(types, e)
    if t.looks_like(out):
        x = call("cast", x, dtype="int32")
    else:
        x = _requantize(x, t, out.scale, out.zero_point, "int32", t.axis)
    return call(e.attrs.name, x, **attrs), Affine(out.scale, out.zero_point, "int32", out.axis)


@rule("mean")
def mean(e: Call, types: Types) -> Result:
    """The mean in int32."""
    t = tensor_type(types, e.args[0])
    out = call("mean", call("cast", e.args[0], dtype="int32"), **attributes_of(e.attrs))
    return call("cast", out, dtype=t.dtype), t


@rule("nn.bias_add", alone=True)
def bias_add(e: Call, types: Types) -> Result:
    """The bias quantized as the data is."""
    x, bias = e.args
    t = tensor_type(types, x)
    if t.dtype != "int32":
        raise NotSupported(f"sums of {t.dtype} wrap")
    if bias in types:
        b = tensor_type(types, bias)
        if not t.looks_like(b):
            bias = _requantize(bias, b, fold(t.scale), fold(t.zero_point), t.dtype, 0)
    else:
        bias = _quantize(_float_constant(bias), t, t.dtype, 0)
    return call("nn.bias_add", x, bias, **attributes_of(e.attrs)), t


_BYTES = ("int8", "uint8")


def _require(name: str, operands: Sequence[Affine], *accepted: Sequence[str]) -> None:
    """Raises NotSupported if the integer operator takes no operands of these types."""
    for t, dtypes in zip(operands, accepted):
        if t.dtype not in dtypes:
            raise NotSupported(f"{name} is not defined for {t.dtype}")


def _product_type(x: Affine, w: Affine) -> tuple[Expr, Expr]:
    """Scale and zero point of a product."""
    scale = fold(call("multiply", x.scale, w.scale))
    zero = fold(call("cast", call("zeros_like", scale), dtype="int32"))
    return scale, zero


@rule("nn.conv2d", alone=True)
def convolution(e: Call, types: Types) -> Result:
    """The quantized convolution."""
    return _convolution("qnn.conv2d", e, types, (*_BYTES, "int16"), (*_BYTES, "int16"))


@rule("nn.conv2d_transpose", alone=True)
def transposed_convolution(e: Call, types: Types) -> Result:
    """The quantized transposed convolution."""
    return _convolution("qnn.conv2d_transpose", e, types, (*_BYTES, "int16", "uint16"), _BYTES)


def _convolution(name: str, e: Call, types: Types, data: Sequence[str], weights: Sequence[str]) -> Result:
    x, w = tensor_type(types, e.args[0]), tensor_type(types, e.args[1])
    _require(name, (x, w), data, weights)
    scale, zero = _product_type(x, w)
    parameters = (x.zero_point, w.zero_point, x.scale, w.scale)
    out = call(
        name,
        *e.args,
        *parameters,
        **attributes_of(e.attrs, "out_dtype"),
        out_dtype="int32",
    )
    layout = Layout.parse(e.attrs.out_layout or e.attrs.data_layout)
    return out, Affine(scale, zero, "int32", layout.index("C"))


@rule("nn.dense", alone=True)
def dense(e: Call, types: Types) -> Result:
    """The quantized dense layer."""
    x, w = tensor_type(types, e.args[0]), tensor_type(types, e.args[1])
    _require("qnn.dense", (x, w), (*_BYTES, "int16", "uint16"), _BYTES)
    scale, zero = _product_type(x, w)
    parameters = (x.zero_point, w.zero_point, x.scale, w.scale)
    out = call("qnn.dense", *e.args, *parameters, **attributes_of(e.attrs, "out_dtype"), out_dtype="int32")
    return out, Affine(scale, zero, "int32", 1)


@rule("nn.batch_matmul", alone=True)
def batch_matmul(e: Call, types: Types) -> Result:
    """The quantized product, which takes the second operand transposed, and only so."""
    x, y = tensor_type(types, e.args[0]), tensor_type(types, e.args[1])
    _require("qnn.batch_matmul", (x, y), _BYTES, _BYTES)
    scale = fold(call("multiply", x.scale, y.scale))
    parameters = (x.zero_point, y.zero_point, x.scale, y.scale)
    left, right = e.args
    left = call("transpose", left, axes=[0, 2, 1]) if e.attrs.transpose_a else left
    right = right if e.attrs.transpose_b else call("transpose", right, axes=[0, 2, 1])
    out = call("qnn.batch_matmul", left, right, *parameters, out_dtype="int32", transpose_a=False, transpose_b=True)
    return out, Affine(scale, scalar_constant(0, "int32"), "int32", x.axis)


@rule("concatenate")
def concatenate(e: Call, types: Types) -> Result:
    """The quantized concatenation, in terms of the result."""
    pieces, out = types.get(e.args[0]), tensor_type(types, e)
    if not isinstance(pieces, AffineTuple):
        raise NotSupported("a piece is not quantized")
    dtypes = {t.dtype for t in pieces.fields}
    if len(dtypes) > 1:
        raise NotSupported(f"the pieces are {' and '.join(sorted(dtypes))}")
    (dtype,) = dtypes
    if dtype not in (out.dtype, "int32"):
        raise NotSupported(f"pieces of {dtype} need not have the range of the region's result, {out.dtype}")
    scales = Tuple(tuple(t.scale for t in pieces.fields))
    zeros = Tuple(tuple(t.zero_point for t in pieces.fields))
    return call("qnn.concatenate", e.args[0], scales, zeros, out.scale, out.zero_point, axis=e.attrs.axis), Affine(
        out.scale, out.zero_point, dtype, out.axis
    )


def _single(e: Expr) -> float | None:
    if isinstance(e, Constant) and not isinstance(e.data, MissingData) and e.data.size == 1:
        return e.data.reshape(()).item()
    return None


@rule("clip", alone=True)
def clip(e: Call, types: Types) -> Result:
    """Bounds in quantized terms; by channel where scales are."""
    x = e.args[0]
    t = tensor_type(types, x)
    scale, zero = fold(t.scale), fold(t.zero_point)
    factor, shift = _single(scale), _single(zero)
    if factor is not None and shift is not None:
        bounds = [float(int(b / factor + shift)) for b in (e.attrs.a_min, e.attrs.a_max)]
        return call("clip", x, a_min=bounds[0], a_max=bounds[1]), t
    low: Expr = scalar_constant(e.attrs.a_min, "float32")
    high: Expr = scalar_constant(e.attrs.a_max, "float32")
    scale_shape = _shape(scale)
    if scale_shape and scale_shape[0] > 1:
        shape = [1] * len(_shape(x))
        shape[t.axis] = -1
        low, high = [
            call("reshape", call("broadcast_to", b, shape=scale_shape, dtype=""), newshape=shape) for b in (low, high)
        ]
    folded = Affine(scale, zero, t.dtype, t.axis)
    low, high = [fold(_quantize(b, folded, t.dtype, t.axis)) for b in (low, high)]
    return call("minimum", call("maximum", x, low), high), t


@rule("nn.relu", alone=True)
def relu(e: Call, types: Types) -> Result:
    """The maximum with the zero point."""
    x = e.args[0]
    t = tensor_type(types, x)
    shape = _shape(t.scale)
    zero = t.zero_point
    if len(shape) == 1 and shape[0] > 1:
        channels = [1] * len(_shape(x))
        channels[t.axis] = -1
        zero = call("reshape", call("broadcast_to", zero, shape=shape, dtype=""), newshape=channels)
    return call("maximum", x, fold(call("cast", zero, dtype=t.dtype))), t


def _require_type_of_result(e: Call, t: Affine, out: Affine) -> None:
    """Raises NotSupported if the integer operator, which keeps its operand's type, cannot give the region's."""
    if t.dtype != out.dtype:
        raise NotSupported(f"{e.attrs.name} of {t.dtype} gives no {out.dtype}")


@rule("nn.leaky_relu")
def leaky_relu(e: Call, types: Types) -> Result:
    """The quantized leaky_relu."""
    t, out = tensor_type(types, e.args[0]), tensor_type(types, e)
    _require("qnn.leaky_relu", (t,), _BYTES)
    _require_type_of_result(e, t, out)
    parameters = (t.scale, t.zero_point, out.scale, out.zero_point)
    return call("qnn.leaky_relu", e.args[0], *parameters, alpha=e.attrs.alpha), out


@rule("nn.pad", alone=True)
def pad(e: Call, types: Types) -> Result:
    """The value quantized as the data is; as TVM does it, to int8, where that has the value."""
    x, value = e.args
    t = tensor_type(types, x)
    if value in types:
        v = tensor_type(types, value)
        if not t.same_as(v):
            value = _requantize(value, v, t.scale, t.zero_point, t.dtype, v.axis)
    else:
        real = _float_constant(value)
        value = _quantize(real, t, "int8" if _fits_int8(real, t) else t.dtype)
    return call("nn.pad", x, value, **attributes_of(e.attrs)), t


def _fits_int8(real: Expr, t: Affine) -> bool:
    """True if quantization of a number to int8 gives the number that `t` has for it."""
    if t.dtype == "int8":
        return True
    value, scale, zero = (_single(fold(x)) for x in (real, t.scale, t.zero_point))
    if value is None or scale is None or zero is None:
        return False
    low, high = limits("int8")
    return low <= round(value / scale) + zero <= high


def _operands(e: Call, types: Types) -> tuple[Expr, Expr, Affine, Affine, Affine]:
    """Both operands, quantized, with their types and the result's. A constant is quantized as the other operand is."""
    left, right = e.args
    affine_types = [types.get(left), types.get(right)]
    if affine_types == [None, None]:
        raise NotSupported("neither operand is quantized")
    a = affine_types[0] if isinstance(affine_types[0], Affine) else None
    b = affine_types[1] if isinstance(affine_types[1], Affine) else None
    if a is None:
        assert b is not None
        left, a = _constant_like(left, b), b
    if b is None:
        right, b = _constant_like(right, a), a
    if a.dtype != b.dtype:
        raise NotSupported(f"the operands of {e.attrs.name} are {a.dtype} and {b.dtype}")
    out = tensor_type(types, e)
    return left, right, a, b, out if a.dtype == out.dtype else _in_own_terms(e, a)


def _in_own_terms(e: Call, t: Affine) -> Affine:
    """The affine type of a result if the integer operator keeps the operands' type and the region ends in another one:
    the operands' own, if that leaves room for other values than theirs."""
    if t.dtype != "int32":
        raise NotSupported(f"{e.attrs.name} gives {t.dtype}, which need not have the range of the region's result")
    return t


def _constant_like(e: Expr, t: Affine) -> Expr:
    """A constant, quantized as the other operand is. Raises NotSupported for another expression, or a value beyond the other's range."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData):
        raise NotSupported("an operand is neither quantized nor a constant")
    scale, zero = _single(fold(t.scale)), _single(fold(t.zero_point))
    if scale is not None and zero is not None and t.dtype != "int32" and e.dtype.startswith("float"):
        low, high = limits(t.dtype)
        steps = e.data.astype("float64") / scale + zero
        if ((steps < low - 0.5) | (steps > high + 0.5)).any():
            raise NotSupported("a constant is beyond the range of the other operand")
    return _quantize(e, t, t.dtype)


def _largest(t: Affine) -> int:
    """The greatest magnitude of an element minus its zero point; 0 for 32 bits, which are assumed wide enough."""
    if t.dtype == "int32":
        return 0
    low, high = limits(t.dtype)
    zero = int(_single(fold(t.zero_point)) or 0)
    return max(high - zero, zero - low)


@rule("add", "multiply", "subtract")
def arithmetic(e: Call, types: Types) -> Result:
    """The quantized operator."""
    left, right, a, b, out = _operands(e, types)
    name = "qnn.mul" if e.attrs.name == "multiply" else f"qnn.{e.attrs.name}"
    if name == "qnn.mul" and _largest(a) * _largest(b) >= 2**31:
        raise NotSupported(f"a product of {a.dtype} and {b.dtype} does not fit into 32 bits")
    parameters = (a.scale, a.zero_point, b.scale, b.zero_point, out.scale, out.zero_point)
    return call(name, left, right, *parameters, lhs_axis=a.axis, rhs_axis=b.axis), out


@rule("minimum", "maximum", alone=True)
def extremum(e: Call, types: Types) -> Result:
    """The same operator on integers, in terms of the result."""
    left, right, a, b, out = _operands(e, types)
    if not a.same_as(out):
        left = _requantize(left, a, out.scale, out.zero_point, out.dtype, a.axis)
    if not b.same_as(out):
        right = _requantize(right, b, out.scale, out.zero_point, out.dtype, b.axis)
    return call(e.attrs.name, left, right), out


@rule("sqrt", "rsqrt", "exp", "erf", "sigmoid", "hardswish", "tanh", "abs", "log")
def unary(e: Call, types: Types) -> Result:
    """The quantized operator."""
    t, out = tensor_type(types, e.args[0]), tensor_type(types, e)
    _require(f"qnn.{e.attrs.name}", (t,), _BYTES)
    _require_type_of_result(e, t, out)
    return call(f"qnn.{e.attrs.name}", e.args[0], t.scale, t.zero_point, out.scale, out.zero_point), out
