"""Quantization of dequantized tensors with one multiplication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ...deferred import np
from ...ir import Call, Expr
from ...ops.base import call, is_call_to
from ...ops.qnn.fixed_point import EVEN, limits
from ..core.arithmetic import add, multiply, subtract
from ..core.constants import array_constant, scalar_constant
from ..core.half_even import ROUNDING
from .tensors import BYTES, QuantizedTensor, are_normal


def centred(x: QuantizedTensor) -> Expr:
    """The integers minus their zero point, in float32."""
    if x.centred is not None:
        return x.centred
    data = x.expr if x.dtype == "int32" else call("cast", x.expr, dtype="int32")
    if np.any(x.zero):
        data = subtract(data, array_constant(np.asarray(x.along(x.zero)), "int32"))
    return call("cast", data, dtype="float32")


def scaled(x: QuantizedTensor, ratio: np.ndarray) -> Expr:
    """The integers times a number, or one for each channel, in float32."""
    return multiply(centred(x), array_constant(np.asarray(x.along(ratio)), "float32"))


@dataclass(frozen=True)
class Grid:
    """A quantization of real numbers: `round(clip(x, least, most) / scale) + zero`, clipped to a type of bytes.

    `rounding` is that of `qnn.quantize`.
    """

    scale: np.ndarray
    zero: int
    dtype: str
    rounding: str
    least: float = -math.inf
    most: float = math.inf

    def between(self, least: float, most: float) -> Grid:
        """The same for numbers that are clipped before."""
        return replace(self, least=max(self.least, least), most=min(max(self.most, least), most))

    @property
    def clips(self) -> bool:
        """True if numbers are clipped before."""
        return self.least > -math.inf or self.most < math.inf

    @property
    def bounds(self) -> tuple[float, float]:
        """Of quotients, before they are rounded."""
        low, high = (float(n - self.zero) for n in limits(self.dtype))
        scale = float(self.scale)
        return min(max(low, self.least / scale), high), max(min(high, self.most / scale), low)


@dataclass(frozen=True, eq=False)
class Rounded:
    """Quantized numbers, and the same minus the zero point in float32, as they are made."""

    expr: Expr
    centred: Expr


def rounded(e: Expr, grid: Grid, is_number: bool = False) -> Rounded:
    """A quotient rounded, plus the zero point, clipped and cast; NaN becomes 0. `is_number`: it is never NaN.

    Added to `ROUNDING`, it is rounded a half to the even number, and the integer stands in the lowest bits of the sum.
    """
    low, high = grid.bounds
    e = call("clip", e, a_min=low, a_max=high)
    if not is_number:
        e = call("where", call("isnan", e), scalar_constant(float(-grid.zero), "float32"), e)
    whole: Expr
    bits: Expr
    if grid.rounding == EVEN:
        large = scalar_constant(ROUNDING, "float32")
        moved = add(e, large)
        whole, bits = subtract(moved, large), call("reinterpret", moved, dtype="int32")
    else:
        whole = call("round", e)
        bits = call("cast", whole, dtype="int32")
    if grid.zero:
        bits = add(bits, scalar_constant(grid.zero, "int32"))
    return Rounded(call("cast", bits, dtype=grid.dtype), whole)


def requantized(x: QuantizedTensor, grid: Grid) -> Rounded | None:
    """A tensor quantized with one other scale and zero point; None if the ratio of scales is no normal number."""
    ratio = _ratio(x.scale, grid)
    return None if ratio is None else rounded(scaled(x, ratio), grid, is_number=True)


def combined(e: Call, operands: Sequence[Any], grid: Grid) -> Rounded | None:
    """The sum, difference or product of two tensors of bytes, quantized: each is multiplied by the ratio of scales, not divided."""
    if not all(isinstance(o, QuantizedTensor) and o.dtype in BYTES and o.is_uniform for o in operands):
        return None
    a, b = operands
    if is_call_to(e, "multiply"):
        ratio = _ratio(a.scale * b.scale, grid)
        return None if ratio is None else _product(multiply(centred(a), centred(b)), ratio, grid)
    ratios = [_ratio(o.scale, grid) for o in operands]
    if ratios[0] is None or ratios[1] is None:
        return None
    total = _weighted_sum(a, ratios[0], b, -ratios[1] if is_call_to(e, "subtract") else ratios[1])
    return rounded(total, grid, is_number=True)


def _product(e: Expr, ratio: np.ndarray, grid: Grid) -> Rounded:
    return rounded(multiply(e, _number(ratio)), grid, is_number=True)


_LOW_BITS = 8
"""Bits of a factor that are split off: what is left, of 16 bits, times a byte minus its zero point fits the 24 of float32."""


def _weighted_sum(a: QuantizedTensor, p: np.ndarray, b: QuantizedTensor, q: np.ndarray) -> Expr:
    """`a · p + b · q` of centred bytes, in products that are exact, the least first.

    Compilers contract a product and a sum to one operation where the processor has it, which rounds once; here it makes no difference.
    """
    parts = [(centred(x), *_split(factor)) for x, factor in ((a, p), (b, q))]
    terms = [(x, rest) for x, _, rest in parts if rest] + [(x, leading) for x, leading, _ in parts]
    return reduce(add, [multiply(x, _number(factor)) for x, factor in terms])


def _split(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number as the sum of its leading bits and the rest."""
    high = np.asarray(factor, "float32").view("int32") >> _LOW_BITS << _LOW_BITS
    leading = np.asarray(high, "int32").view("float32")
    return leading, np.asarray(factor - leading)


def _ratio(scale: np.ndarray, grid: Grid) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        ratio = np.asarray(scale / grid.scale)
    return ratio if are_normal(ratio) else None


def _number(value: np.ndarray) -> Expr:
    return array_constant(np.asarray(value), "float32")
