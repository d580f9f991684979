"""Quantized elementwise operators as integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Expr, Tuple, TupleGetItem, TupleType
from ...ir.types import TensorType
from ...ops.base import call
from ...ops.qnn.fixed_point import EVEN, highest_real
from ..core.arithmetic import add, multiply, subtract
from ..core.axes import expand_to_axis
from ..core.constants import array_constant, scalar_constant
from ..core.half_even import round_half_even
from .quantities import (
    along_axis,
    cast,
    clip_cast,
    constant_values,
    fixed_point,
    int32,
    is_scalar,
    is_zero,
    requantize,
    same_parameters,
    scale_product,
)
from .rule import QNN_CANONICALIZE, LegalizationSite, legalization


@legalization(QNN_CANONICALIZE, "qnn.requantize")
def requantize_call(s: LegalizationSite) -> Expr:
    """Subtract the zero point, multiply by the ratio of scales, add the new zero point, clip."""
    attrs = s.attrs
    assert isinstance(s.type, TensorType)
    data, *scales_and_zeros = s.args
    in_scale, in_zero, out_scale, out_zero = scales_and_zeros
    return requantize(
        data,
        s.tensor(0).shape,
        in_scale,
        in_zero,
        out_scale,
        out_zero,
        s.type.dtype,
        attrs.axis,
        attrs.rounding,
        attrs.compute_dtype,
        s.target,
    )


def _expanded(s: LegalizationSite, index: int, rank: int) -> Expr:
    """A scale or zero point that broadcasts along the call's axis."""
    parameter = s.args[index]
    if is_scalar(parameter) or not s.tensor(index).shape:
        return parameter
    return expand_to_axis(parameter, rank, [s.attrs.axis % rank if s.attrs.axis < 0 else s.attrs.axis])


@legalization(QNN_CANONICALIZE, "qnn.quantize")
def quantize(s: LegalizationSite) -> Expr:
    """round(x / scale) + zero_point, clipped."""
    rank = len(s.tensor(0).shape)
    scaled: Expr = call("divide", s.args[0], _expanded(s, 1, rank))
    scaled = round_half_even(scaled) if s.attrs.rounding == EVEN else call("round", scaled)
    return clip_cast(
        add(scaled, cast(_expanded(s, 2, rank), "float32")), s.attrs.out_dtype, highest_real(s.attrs.out_dtype)
    )


@legalization(QNN_CANONICALIZE, "qnn.dequantize")
def dequantize(s: LegalizationSite) -> Expr:
    """(x - zero_point) * scale; clipped and cast where float16 is asked for."""
    rank = len(s.tensor(0).shape)
    scale = _expanded(s, 1, rank)
    shifted = subtract(cast(s.args[0], "int32"), _expanded(s, 2, rank))
    real = multiply(cast(shifted, "float32"), scale)
    if s.attrs.out_dtype != "float16":
        return real
    largest = float(np.finfo(np.float16).max)
    return cast(call("clip", real, a_min=-largest, a_max=largest), "float16")


def _in_output_terms(s: LegalizationSite, index: int) -> Expr:
    """An operand of a binary operator with the scale and zero point of the result, in int32."""
    x, scale, zero = s.args[index], s.args[2 + 2 * index], s.args[3 + 2 * index]
    if same_parameters(scale, zero, s.args[6], s.args[7]):
        return cast(x, "int32")
    axis = s.attrs.rhs_axis if index else s.attrs.lhs_axis
    return requantize(x, s.tensor(0).shape, scale, zero, s.args[6], s.args[7], "int32", axis, target=s.target)


@legalization(QNN_CANONICALIZE, "qnn.add")
def qnn_add(s: LegalizationSite) -> Expr:
    """a + b - zero_point, both operands in terms of the result."""
    out = add(_in_output_terms(s, 0), _in_output_terms(s, 1))
    if not is_zero(s.args[7]):
        out = subtract(out, s.args[7])
    return clip_cast(out, s.tensor(0).dtype)


@legalization(QNN_CANONICALIZE, "qnn.subtract")
def qnn_subtract(s: LegalizationSite) -> Expr:
    """a - b + zero_point, both operands in terms of the result."""
    out = subtract(_in_output_terms(s, 0), _in_output_terms(s, 1))
    if not is_zero(s.args[7]):
        out = add(out, s.args[7])
    return clip_cast(out, s.tensor(0).dtype)


@legalization(QNN_CANONICALIZE, "qnn.mul")
def qnn_multiply(s: LegalizationSite) -> Expr:
    """(a - za) * (b - zb), which has scale sa * sb and zero point 0, requantized."""
    lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, scale, zero = s.args
    t, attrs = s.tensor(0), s.attrs
    rank = len(t.shape)
    a, b = cast(lhs, "int32"), cast(rhs, "int32")
    constant_values(lhs_scale, "lhs_scale of qnn.mul")
    constant_values(rhs_scale, "rhs_scale of qnn.mul")
    if is_scalar(lhs_scale) and is_scalar(rhs_scale):
        a = a if is_zero(lhs_zero) else subtract(a, lhs_zero)
        b = b if is_zero(rhs_zero) else subtract(b, rhs_zero)
        product_scale: Expr = scalar_constant(scale_product(lhs_scale, rhs_scale), "float32")
        axis = -1
    elif attrs.lhs_axis == attrs.rhs_axis:
        a = a if is_zero(lhs_zero) else subtract(a, cast(along_axis(lhs_zero, rank, attrs.lhs_axis), "int32"))
        b = b if is_zero(rhs_zero) else subtract(b, cast(along_axis(rhs_zero, rank, attrs.rhs_axis), "int32"))
        left = constant_values(lhs_scale, "lhs_scale of qnn.mul").ravel().astype("float64")
        right = constant_values(rhs_scale, "rhs_scale of qnn.mul").ravel().astype("float64")
        product_scale = array_constant(np.asarray(left * right[: left.size]), "float32")
        axis = attrs.lhs_axis
    else:
        raise IrError("qnn.mul needs both operands quantized along the same axis", s.call.span)
    product = multiply(a, b)
    return requantize(product, t.shape, product_scale, int32(0), scale, zero, t.dtype, axis, target=s.target)


@legalization(QNN_CANONICALIZE, "qnn.leaky_relu")
def qnn_leaky_relu(s: LegalizationSite) -> Expr:
    """Below the zero point alpha * x + (1 - alpha) * zero_point, x elsewhere, all in terms of the result."""
    x, scale, zero, out_scale, out_zero = s.args
    t, alpha = s.tensor(0), s.attrs.alpha
    data, zero, out_zero = cast(x, "int32"), cast(zero, "int32"), cast(out_zero, "int32")
    if same_parameters(scale, zero, out_scale, out_zero):
        moved = cast(data, "int32")
    else:
        moved = requantize(data, t.shape, scale, zero, out_scale, out_zero, "int32", target=s.target)
    below = add(fixed_point(moved, alpha), fixed_point(out_zero, 1 - alpha))
    return clip_cast(call("where", call("less", data, zero), below, moved), t.dtype)


@legalization(QNN_CANONICALIZE, "qnn.concatenate")
def qnn_concatenate(s: LegalizationSite) -> Expr:
    """Each piece in terms of the result, then an ordinary concatenate."""
    data, scales, zeros, scale, zero = s.args
    types = s.types[0]
    assert isinstance(types, TupleType)
    if not isinstance(scales, Tuple) or not isinstance(zeros, Tuple):
        raise IrError("each scale and zero point of qnn.concatenate must be a constant", s.call.span)
    if isinstance(data, Tuple):
        pieces = data.fields
    else:
        pieces = tuple(TupleGetItem(data, i) for i in range(len(types.fields)))
    moved = []
    for piece, t, piece_scale, piece_zero in zip(pieces, types.fields, scales.fields, zeros.fields, strict=True):
        assert isinstance(t, TensorType)
        if not same_parameters(piece_scale, piece_zero, scale, zero):
            piece = requantize(piece, t.shape, piece_scale, piece_zero, scale, zero, t.dtype, target=s.target)
        moved.append(piece)
    return call("concatenate", Tuple(tuple(moved)), axis=s.attrs.axis)


def _in_floats(s: LegalizationSite, function: Callable[[Expr], Expr]) -> Expr:
    """A unary function on the real values: dequantized, computed, quantized again."""
    x, scale, zero, out_scale, out_zero = s.args
    real = multiply(cast(subtract(cast(x, "int32"), zero), "float32"), scale)
    quantized = call("round", call("divide", function(real), out_scale))
    return clip_cast(add(quantized, cast(out_zero, "float32")), s.tensor(0).dtype)


@legalization(
    QNN_CANONICALIZE, "qnn.tanh", "qnn.exp", "qnn.sqrt", "qnn.rsqrt", "qnn.erf", "qnn.sigmoid", "qnn.log", "qnn.abs"
)
def unary(s: LegalizationSite) -> Expr:
    """The float operator of the same name."""
    return _in_floats(s, lambda x: call(s.attrs.name.removeprefix("qnn."), x))


@legalization(QNN_CANONICALIZE, "qnn.hardswish")
def hardswish(s: LegalizationSite) -> Expr:
    """x clip(x + 3, 0, 6) / 6."""

    def function(x: Expr) -> Expr:
        gate = call("clip", add(x, scalar_constant(3.0, "float32")), a_min=0.0, a_max=6.0)
        return call("divide", multiply(x, gate), scalar_constant(6.0, "float32"))

    return _in_floats(s, function)
