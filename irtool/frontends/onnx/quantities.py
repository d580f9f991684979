"""Scales and zero points, and tensors that are quantized with them.

Where Relay's quantized operators take what a node has (float32, scales that are known), the node becomes one of them;
anything else (half precision, scales that the program computes, blocks along an axis) is written out in plain arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant
from ...ops.qnn.fixed_point import EVEN, highest_real, limits
from ...passes.core.constants import to_array
from .mistakes import DamagedModel, UnsupportedNode
from .rounding import round_half_even
from .value import Value, apply

QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")
"""What qnn.quantize makes and qnn.dequantize takes."""


@dataclass(frozen=True)
class Quantities:
    """A scale and a zero point: numbers, or vectors along an axis of the tensor that they belong to.

    Attributes:
        scale: floating-point numbers.
        zero: int32.
    """

    scale: Value
    zero: Value

    @staticmethod
    def of(scale: Value, zero: Value | None) -> Quantities:
        """The quantities of a node's inputs, as constants in the text if they are known."""
        zero = Value.constant(np.int32(0)) if zero is None else _as(zero, "int32")
        return Quantities(_plain(scale.as_constant()), _plain(zero))

    @staticmethod
    def known(scale: Value, zero: Value | None, what: str) -> Quantities:
        """As `of`, in float32. Raises IrError for computed inputs; `what` names the tensor in it."""
        scale.array(f"the scale of {what}")
        if zero is not None:
            zero.array(f"the zero point of {what}")
        return Quantities.of(_as(scale, "float32"), zero)

    @property
    def is_scalar(self) -> bool:
        """True for one scale and one zero point."""
        return self.scale.rank == 0 and self.zero.rank == 0

    @property
    def is_known(self) -> bool:
        """True if both are constants."""
        return self.scale.known is not None and self.zero.known is not None

    def in_steps_of(self, unit: Quantities) -> Quantities:
        """The same with a scale relative to that of `unit`, one number; all are constants, in float32."""
        own, step = (q.scale.array("a scale") for q in (self, unit))
        with np.errstate(all="ignore"):
            return Quantities(Value.constant(np.asarray(own / step)), self.zero)

    def along(self, axis: int, rank: int) -> tuple[Value, Value]:
        """Scale and zero point shaped so that they broadcast along an axis."""
        return _along(self.scale, axis, rank), _along(self.zero, axis, rank)


def _as(x: Value, dtype: str) -> Value:
    if x.dtype == dtype:
        return x.as_constant()
    if isinstance(x.expr, Constant) and x.known is not None:
        return Value.constant(to_array(x.expr).astype(dtype))
    return x.call("cast", dtype=dtype)


def _plain(x: Value) -> Value:
    """One element as a scalar."""
    if x.rank == 0 or any(d != 1 for d in x.shape):
        return x
    if x.known is not None:
        return Value.constant(x.known.reshape(()), x.dtype)
    return x.call("reshape", newshape=[])


def _along(x: Value, axis: int, rank: int) -> Value:
    if x.rank != 1:
        return x
    shape = [1] * rank
    shape[axis] = -1
    if x.known is not None:
        return Value.constant(x.known.reshape(shape), x.dtype)
    return x.call("reshape", newshape=shape)


def quantized(x: Value, q: Quantities, dtype: str, axis: int = -1) -> Value:
    """`x / scale`, rounded a half to the even number, plus the zero point, clipped to the range of `dtype`."""
    if dtype not in QUANTIZED:
        raise IrError(f"quantization to {dtype} has no form in Relay", code=UnsupportedNode)
    if x.dtype == "float32" and q.scale.dtype == "float32" and q.is_known and q.scale.rank <= 1:
        return x.call("qnn.quantize", q.scale, q.zero, out_dtype=dtype, axis=-1 if q.is_scalar else axis, rounding=EVEN)
    scale, zero = q.along(axis, x.rank)
    if "float32" not in (x.dtype, scale.dtype) and x.dtype != "float64":
        x, scale = x.call("cast", dtype="float32"), scale.call("cast", dtype="float32")
    scaled = apply("divide", x, scale.call("cast", dtype=x.dtype))
    shifted = apply("add", round_half_even(scaled), zero.call("cast", dtype=x.dtype))
    return clipped(shifted, dtype)


def clipped(x: Value, dtype: str) -> Value:
    """Numbers clipped to the range of an integer type, and cast to it."""
    low, high = limits(dtype)
    if x.dtype == "float32":
        high = highest_real(dtype)
    return x.call("clip", a_min=float(low), a_max=float(high)).call("cast", dtype=dtype)


def dequantized(x: Value, q: Quantities, axis: int = -1, dtype: str = "") -> Value:
    """`(x - zero point) * scale`, in the type of the scale or in `dtype`."""
    dtype = dtype or q.scale.dtype
    if dtype == q.scale.dtype == "float32" and x.dtype in QUANTIZED and q.is_known and q.scale.rank <= 1:
        return x.call("qnn.dequantize", q.scale, q.zero, axis=-1 if q.is_scalar else axis)
    scale, zero = q.along(axis, x.rank)
    shifted = apply("subtract", x.call("cast", dtype="int32"), zero)
    product = apply("multiply", shifted.call("cast", dtype=scale.dtype), scale)
    return product if product.dtype == dtype else product.call("cast", dtype=dtype)


def one_if_equal(zero: Value) -> Value:
    """Zero points as one number where they are equal, for which there are faster kernels."""
    known = zero.known
    if known is None or not known.size or (known != known.reshape(-1)[0]).any():
        return zero
    return Value.constant(known.reshape(-1)[0])


def real(sums: Value, scale: Value, dtype: str = "float32") -> Value:
    """Integers with zero point 0, times a float32 scale that broadcasts against them."""
    product = apply("multiply", sums.call("cast", dtype="float32"), scale)
    return product if dtype == "float32" else product.call("cast", dtype=dtype)


def product(a: Value, b: Value) -> Value:
    """The product of scales that broadcast, in float32; a constant where they are."""
    a, b = _as(a, "float32"), _as(b, "float32")
    if a.known is None or b.known is None:
        return apply("multiply", a, b)
    try:
        known = a.known * b.known
    except ValueError:
        raise IrError(f"scales {a.tensor} and {b.tensor} do not broadcast", code=DamagedModel) from None
    return Value.constant(np.asarray(known))


def requantized(x: Value, scale: Value, to: Quantities, dtype: str) -> Value:
    """Integers with zero point 0 and a scale that broadcasts against them as integers of other quantities.

    They become real numbers in between, multiples of the result's scale: one product, rounded a half to the even number, as ONNX
    Runtime has it. `qnn.requantize` multiplies in fixed point, and rounds halves up.
    """
    scale, to = _as(scale, "float32"), Quantities(_as(to.scale, "float32"), to.zero)
    if scale.known is not None and to.is_known and to.is_scalar:
        along = [i - scale.rank for i, d in enumerate(scale.shape) if d != 1]
        if len(along) <= 1:
            flat = Quantities(Value.constant(scale.known.reshape(-1 if along else ())), Value.constant(np.int32(0)))
            axis = along[0] + x.rank if along else -1
            return quantized(dequantized(x, flat.in_steps_of(to), axis), to.in_steps_of(to), dtype)
    factor = apply("divide", scale, to.scale)
    real = apply("multiply", x.call("cast", dtype="float32"), factor)
    return clipped(apply("add", round_half_even(real), to.zero.call("cast", dtype="float32")), dtype)


def dynamically_quantized(x: Value) -> tuple[Value, Value, Value]:
    """uint8, the scale, and the zero point as uint8."""

    def number(value: float) -> Value:
        return Value.constant(np.float32(value))

    least = apply("minimum", x.call("min"), number(0))
    span = apply("subtract", apply("maximum", x.call("max"), number(0)), least)
    scale = apply("divide", span, number(255))
    # Of nothing but zeros the scale is 1, as in ONNX Runtime.
    scale = apply("where", apply("equal", span, number(0)), number(1), scale)
    zero = clipped(round_half_even(apply("divide", least.call("negative"), scale)), "uint8")
    return quantized(x, Quantities(scale, zero.call("cast", dtype="int32")), "uint8"), scale, zero
