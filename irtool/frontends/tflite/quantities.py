"""Arithmetic on quantized tensors as TensorFlow Lite's reference kernels do it, bit by bit.

A tensor is integers `q` with a scale and a zero point: `real = scale * (q - zero)`. Scales are float32; their quotients are computed in
float64 and held as an integer of 31 bits and a shift (`qnn.rescale`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ops.qnn.fixed_point import limits
from ...ops.qnn.fixed_point import multiplier_and_shift as exact_multiplier
from ..onnx.arithmetic import cast, scalar
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from ..onnx.value import Value, apply
from .model import Quantization
from .operator import Operand

_LEAST_SHIFT = -31
"""Smaller factors are zero."""


def multiplier_and_shift(factor: float) -> tuple[int, int]:
    """`QuantizeMultiplier`: `(m, s)` with `factor = m / 2**31 * 2**s`; (0, 0) for a factor that is too small.

    Raises IrError for a factor whose size is 2^31 or more, or no number.
    """
    if not abs(factor) < 2.0**31:
        raise IrError(f"the quotient of scales {factor} is out of range", code=DamagedModel)
    multiplier, shift = exact_multiplier(factor)
    return (0, 0) if shift < _LEAST_SHIFT else (multiplier, shift)


def scale_of(q: Quantization) -> float:
    """The one scale, in float64."""
    return float(q.scales[0])


def zero_of(q: Quantization) -> int:
    """The one zero point."""
    return int(q.zeros[0])


def require_scalar(operand: Operand) -> Quantization:
    """The one scale and zero point of an input. Raises IrError if it has none, or several."""
    from .operator import require_quantization

    return require_quantization(operand.tensor)


def number(value: int) -> Value:
    """A scalar of int32."""
    return Value.constant(np.int32(value))


def rescaled(x: Value, factors: float | Sequence[float], axis: int = -1) -> Value:
    """int32 times real factors, one or one for each element of an axis, rounded twice: `MultiplyByQuantizedMultiplier`."""
    pairs = [multiplier_and_shift(float(f)) for f in np.atleast_1d(np.asarray(factors, np.float64))]
    multipliers, shifts = (np.array(p, np.int32) for p in zip(*pairs, strict=True))
    if len(pairs) == 1:
        multipliers, shifts = multipliers.reshape(()), shifts.reshape(())
    return apply("qnn.rescale", x, Value.constant(multipliers), Value.constant(shifts), axis=axis)


def rescaled_once(x: Value, factors: Sequence[float], axis: int) -> Value:
    """Integers times real factors, one for each element of an axis, in int32: rounded once, a half up, as dense layers are."""
    pairs = [multiplier_and_shift(float(f)) for f in factors]
    multipliers, left, right = (
        Value.constant(np.array(p, np.int32))
        for p in ([m for m, _ in pairs], [max(s, 0) for _, s in pairs], [max(-s, 0) for _, s in pairs])
    )
    steps = apply(
        "fixed_point_multiply_per_axis",
        x,
        multipliers,
        left,
        right,
        is_lshift_required=any(s > 0 for _, s in pairs),
        is_rshift_required=True,
        axes=[axis],
    )
    return cast(steps, "int32")


def offset(x: Operand) -> Value:
    """The integers minus the zero point, in int32."""
    return plus(cast(x.value, "int32"), -zero_of(require_scalar(x)))


def plus(x: Value, constant: int) -> Value:
    """int32 plus a number."""
    return x if constant == 0 else apply("add", x, scalar(constant, x.dtype))


def stored(x: Value, q: Quantization, dtype: str, low: int | None = None, high: int | None = None) -> Value:
    """int32 in steps of the output, plus its zero point, clipped to the range of its type, or a narrower one."""
    least, greatest = limits(dtype)
    low, high = max(least, least if low is None else low), min(greatest, greatest if high is None else high)
    return cast(limited(plus(x, zero_of(q)), low, high), dtype)


def limited(x: Value, low: int, high: int) -> Value:
    """Integers clipped to a range."""
    if high < 1 << 24 and low > -(1 << 24):
        return x.call("clip", a_min=float(low), a_max=float(high))
    return apply("minimum", apply("maximum", x, scalar(low, x.dtype)), scalar(high, x.dtype))


_RANGES = {"RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "NONE": (None, None)}


def activation_range(name: str, q: Quantization, dtype: str) -> tuple[int, int]:
    """The least and the greatest integer that a fused activation leaves."""
    low, high = limits(dtype)
    if name not in _RANGES:
        raise IrError(f"the activation {name} of integers has no form in Relay", code=UnsupportedNode)
    least, greatest = _RANGES[name]
    if least is not None:
        low = max(low, quantized_number(least, q))
    if greatest is not None:
        high = min(high, quantized_number(greatest, q))
    return low, high


def quantized_number(real: float, q: Quantization) -> int:
    """A real number in steps of the tensor: the quotient in float32, rounded away from zero, plus the zero point."""
    quotient = np.float32(real) / np.float32(q.scales[0])
    return zero_of(q) + int(rounded(np.asarray(quotient)))


def rounded(x: Any) -> Any:
    """Halves away from zero, as `std::round`."""
    return np.where(x < 0, -1, 1) * np.floor(np.abs(x) + x.dtype.type(0.5)) if x.dtype.kind == "f" else x


def by_table(x: Operand, dtype: str, function: Callable[[Any], Any]) -> Value:
    """A function of 8-bit integers as a table of its 256 values; it is given all of them, ascending, as int32."""
    low, high = limits(x.dtype)
    values = np.asarray(function(np.arange(low, high + 1, dtype=np.int32))).astype(dtype)
    places = plus(cast(x.value, "int32"), -low)
    return apply("take", Value.constant(values), places, axis=0, mode="fast")


def table_of_reals(x: Operand, out: Quantization, dtype: str, function: Callable[[Any], Any]) -> Value:
    """A function of real numbers in float32 as a table of integers, as the kernels make their lookup tables."""
    q = require_scalar(x)
    low, high = limits(dtype)

    def element(i: Any) -> Any:
        with np.errstate(all="ignore"):
            real = np.float32(q.scales[0]) * (i - zero_of(q)).astype(np.float32)
            steps = rounded(function(real).astype(np.float32) * (np.float32(1) / np.float32(out.scales[0])))
            return np.clip(np.nan_to_num(steps + np.float32(zero_of(out))), low, high).astype(np.int64)

    return by_table(x, dtype, element)


def correct(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of float32 numbers, correctly rounded as those of the C library are: numpy's own are a unit or two off."""
    return lambda r: function(np.asarray(r, np.float64)).astype(np.float32)
