"""Pieces of quantized arithmetic as expressions: zero points, clipping, multiplication by real factors, requantization."""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant, Dim, Expr, MissingData
from ...ir.target import Target
from ...ops.base import call
from ...ops.elementwise import MOST_RIGHT
from ...ops.qnn.fixed_point import limits, multiplier_and_shift
from ..core.arithmetic import add, multiply, subtract
from ..core.axes import expand_to_axis
from ..core.constants import array_constant, same_scalar, scalar_constant
from ..core.x86_processors import has_sse42


def int32(value: int) -> Constant:
    """An int32 scalar."""
    return scalar_constant(value, "int32")


def cast(e: Expr, dtype: str) -> Expr:
    """`cast(e, dtype)`."""
    return call("cast", e, dtype=dtype)


def is_scalar(e: Expr) -> bool:
    """A constant of rank 0 with a known value."""
    return isinstance(e, Constant) and e.is_scalar


def is_zero(e: Expr, dtype: str = "int32") -> bool:
    """The constant 0 of that type."""
    return same_scalar(e, scalar_constant(0, dtype))


def constant_values(e: Expr, what: str) -> np.ndarray:
    """The value of an expression that must be a constant. Raises IrError, naming `what`, otherwise."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData):
        raise IrError(f"the {what} must be a constant", e.span)
    return e.data


def number(e: Expr, what: str) -> float:
    """The value of a constant scalar."""
    return constant_values(e, what).reshape(()).item() if is_scalar(e) else _not_scalar(e, what)


def _not_scalar(e: Expr, what: str) -> float:
    raise IrError(f"the {what} must be a constant scalar", e.span)


def wrap_axis(axis: int, rank: int) -> int:
    """A negative axis counted from the end; 0 if there is no such axis, as for one number for all of a tensor."""
    wrapped = axis if axis >= 0 else rank + axis
    return wrapped if 0 <= wrapped < max(rank, 1) else 0


def clip_cast(e: Expr, dtype: str, highest: int | None = None) -> Expr:
    """`e` clipped to the range of an integer type, or to the highest number that `e` can hold of it, and cast to it."""
    low, high = limits(dtype)
    return cast(call("clip", e, a_min=float(low), a_max=float(high if highest is None else highest)), dtype)


def along_axis(parameter: Expr, rank: int, axis: int) -> Expr:
    """A scale or zero point of any shape, flattened and expanded so that it broadcasts along `axis`; a scalar beside scalars."""
    if rank == 0:
        return call("reshape", parameter, newshape=[])
    return expand_to_axis(call("reshape", parameter, newshape=[-1]), rank, [wrap_axis(axis, rank)])


def fixed_point(e: Expr, factor: float) -> Expr:
    """`e * factor` in fixed-point arithmetic, halves rounded up."""
    multiplier, shift = multiplier_and_shift(factor)
    return call("fixed_point_multiply", e, multiplier=multiplier, shift=shift)


def to_nearest(e: Expr, factor: float, shape: Sequence[Dim]) -> Expr:
    """`e * factor` in 64-bit arithmetic, halves rounded away from zero."""
    multiplier, shift = _visible_factor(factor)

    def wide(value: int) -> Constant:
        return scalar_constant(value, "int64")

    e = cast(e, "int64")
    if shift > 0:
        e = call("left_shift", e, wide(shift))
    e = multiply(e, wide(multiplier))
    total = max(-shift, 0) + 31
    half = 1 << (total - 1)
    up = call("full", wide(half), shape=tuple(shape), dtype="int64")
    down = call("full", wide(half - 1), shape=tuple(shape), dtype="int64")
    zeros = call("zeros", shape=tuple(shape), dtype="int64")
    e = add(e, call("where", call("greater_equal", e, zeros), up, down))
    return cast(call("right_shift", e, wide(total)), "int32")


def _visible_factor(factor: float) -> tuple[int, int]:
    """The multiplier and the shift of a factor; 0 for one that no product of 63 bits is large enough for."""
    multiplier, shift = multiplier_and_shift(factor)
    return (multiplier, shift) if 31 - shift <= MOST_RIGHT else (0, 0)


def _per_channel(e: Expr, factors: Sequence[float], shape: Sequence[Dim], axis: int, rounding: str) -> Expr:
    """`e * factors[channel]` in 64-bit arithmetic."""
    rank = len(shape)
    factor_pairs = [_visible_factor(f) for f in factors]

    def channels(values: Sequence[int]) -> Expr:
        return expand_to_axis(array_constant(np.array(values, "int64"), "int64"), rank, [axis])

    e = cast(e, "int64")
    if any(s > 0 for _, s in factor_pairs):
        e = call("left_shift", e, channels([max(s, 0) for _, s in factor_pairs]))
    e = multiply(e, channels([m for m, _ in factor_pairs]))
    totals = [max(-s, 0) + 31 for _, s in factor_pairs]
    half: Expr = channels([1 << (t - 1) for t in totals])
    if rounding == "TONEAREST":
        less = channels([(1 << (t - 1)) - 1 for t in totals])
        up = call("broadcast_to", half, shape=tuple(shape), dtype="")
        down = call("broadcast_to", less, shape=tuple(shape), dtype="")
        zeros = call("zeros", shape=tuple(shape), dtype="int64")
        half = call("where", call("greater_equal", e, zeros), up, down)
    e = add(e, half)
    return cast(call("right_shift", e, channels(totals)), "int32")


def requantize(
    e: Expr,
    shape: Sequence[Dim],
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    out_dtype: str,
    axis: int = -1,
    rounding: str = "None",
    compute_dtype: str = "None",
    target: Target | None = None,
) -> Expr:
    """A quantized tensor with other scale and zero point (see `qnn.requantize`); both scales must be constants.

    `rounding` is UPWARD (the default) or TONEAREST, `compute_dtype` int64 (the default), float32 or float64, as the
    type rule of qnn.requantize has seen to.
    """
    rounding = "UPWARD" if rounding == "None" else rounding
    compute_dtype = "int64" if compute_dtype == "None" else compute_dtype
    working = "int32" if compute_dtype == "int64" else compute_dtype
    rank = len(shape)
    e = cast(e, working)
    if not is_zero(input_zero_point):
        e = subtract(e, cast(along_axis(input_zero_point, rank, axis), working))
    scale = float(np.float32(number(output_scale, "output scale of qnn.requantize")))
    factors = [float(s) / scale for s in constant_values(input_scale, "input scale of qnn.requantize").ravel()]
    if is_scalar(input_scale):
        if not same_scalar(input_scale, output_scale):
            e = _scaled(e, factors[0], shape, rounding, working)
    elif working == "int32":
        e = _per_channel(e, factors, shape, rank - 1 if axis == -1 else axis, rounding)
    else:
        weights = array_constant(np.array(factors), working)
        e = multiply(e, expand_to_axis(weights, rank, [rank - 1 if axis == -1 else axis]))
    if not is_zero(output_zero_point):
        zero = cast(output_zero_point, working)
        e = add(zero, e) if working == "int32" else add(e, zero)
    if working != "int32":
        e = cast(_rounded(e, rounding, working, target), "int32")
    return e if out_dtype == "int32" else clip_cast(e, out_dtype)


def in_output_terms(
    e: Expr, shape: Sequence[Dim], scale: Expr, zero: Expr, out_scale: Expr, out_zero: Expr, target: Target | None
) -> Expr:
    """A quantized tensor in int32, with the result's scale and zero point."""
    if same_parameters(scale, zero, out_scale, out_zero):
        return cast(e, "int32")
    return requantize(e, shape, scale, zero, out_scale, out_zero, "int32", target=target)


def _scaled(e: Expr, factor: float, shape: Sequence[Dim], rounding: str, working: str) -> Expr:
    if working != "int32":
        return multiply(scalar_constant(factor, working), e)
    return fixed_point(e, factor) if rounding == "UPWARD" else to_nearest(e, factor, shape)


def has_fast_rounding(target: Target | None) -> bool:
    """True if the target is an x86 processor with SSE 4.1 (any newer than 2008 that is named)."""
    if target is None or target.kind not in ("llvm", "c"):
        return False
    return has_sse42(target.option("mcpu"))


def _rounded(e: Expr, rounding: str, dtype: str, target: Target | None) -> Expr:
    if has_fast_rounding(target):
        return call("round", e) if rounding == "TONEAREST" else call("floor", add(e, scalar_constant(0.5, dtype)))
    return _round_nearest(e, dtype) if rounding == "TONEAREST" else _round_up(e, dtype)


def _integral(e: Expr, dtype: str) -> Expr:
    """`e` cut off to an integer, in its own type."""
    return cast(cast(e, dtype.replace("float", "int")), dtype)


def _round_up(e: Expr, dtype: str) -> Expr:
    """Halves up, by conversions to integers and back, for processors without a rounding instruction."""
    biased = add(e, scalar_constant(0.5, dtype))
    zero, one = scalar_constant(0.0, dtype), scalar_constant(1.0, dtype)
    cut = _integral(biased, dtype)
    exact = call("logical_or", call("equal", biased, cut), call("greater_equal", biased, zero))
    rounded = call("where", exact, cut, subtract(cut, one))
    return call("where", call("isfinite", e), rounded, e)


def _round_nearest(e: Expr, dtype: str) -> Expr:
    """Halves away from zero, by conversions to integers and back."""
    half, zero = scalar_constant(0.5, dtype), scalar_constant(0.0, dtype)
    sign = call("where", call("less", e, zero), scalar_constant(-1.0, dtype), scalar_constant(1.0, dtype))
    biased = add(e, multiply(half, sign))
    return call("where", call("isfinite", e), multiply(_integral(multiply(biased, sign), dtype), sign), e)


def scale_product(a: Expr, b: Expr) -> float:
    """The product of two constant scales in float32."""
    return float(np.float32(number(a, "scale")) * np.float32(number(b, "scale")))


def same_parameters(scale: Expr, zero_point: Expr, other_scale: Expr, other_zero_point: Expr) -> bool:
    """True if two tensors are quantized alike, as far as constants tell."""
    return same_scalar(scale, other_scale) and same_scalar(zero_point, other_zero_point)
