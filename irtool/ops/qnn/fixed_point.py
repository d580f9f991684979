"""Quantization arithmetic in numpy, exact to the bit.

A real number `r` is held as an integer `q` with `r = scale * (q - zero_point)`. Multiplying integers by a real factor is
done with a 32-bit integer and a shift, as Jacob et al., 2018, describe.
"""

from __future__ import annotations

import math

from ...deferred import np
from ...diagnostics import IrError
from ..conversion import convert
from ..extremes import limited

INT32_LOW, INT32_HIGH = -(2**31), 2**31 - 1

AWAY, EVEN = "TONEAREST", "TONEVEN"
"""Where the halves of quotients go when they are rounded: away from zero, or to the even number."""

LARGEST_FACTOR = 2.0**63
"""By so much no product in 64 bits is shifted."""


def multiplier_and_shift(factor: float) -> tuple[int, int]:
    """`(m, s)` with `factor = m / 2**31 * 2**s` as nearly as possible and `2**30 <= |m| < 2**31`; (0, 0) for 0.

    IrError where no such number is: a factor that is infinite, NaN or 2^63 or more.
    """
    if factor == 0:
        return 0, 0
    if not abs(factor) < LARGEST_FACTOR:
        raise IrError(f"a fixed-point factor must be less than 2^63, not {factor}")
    significand, exponent = math.frexp(factor)
    scaled = significand * 2**31
    rounded = math.floor(abs(scaled) + 0.5) * (1 if scaled >= 0 else -1)
    if rounded == 2**31:
        return 2**30, exponent + 1
    return rounded, exponent


def fixed_point_multiply(x: np.ndarray, factors: np.ndarray, rounding: str) -> np.ndarray:
    """`x * factors`, rounded to int32; `factors` (float64) broadcasts against `x`.

    `UPWARD` rounds a half up, `TONEAREST` away from zero.
    """
    flat = [multiplier_and_shift(float(f)) for f in np.ravel(factors)]
    shape = np.shape(factors)
    multiplier = np.array([m for m, _ in flat], np.int64).reshape(shape)
    left = np.array([max(s, 0) for _, s in flat], np.int64).reshape(shape)
    right = np.array([31 + max(-s, 0) for _, s in flat], np.int64).reshape(shape)
    product = (x.astype(np.int64) << left) * multiplier
    # A right shift by 64 or more leaves nothing of a product of 63 bits but its sign, which rounding takes away.
    beyond = right > 62
    right = np.minimum(right, 62)
    half = np.int64(1) << (right - 1)
    if rounding == "TONEAREST":
        half = np.where(product >= 0, half, half - 1)
    shifted = np.where(beyond, 0, (product + half) >> right)
    return shifted.astype(np.int32)


def along(parameter: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A scale or zero point shaped to broadcast against a tensor of that rank; one element serves all channels.

    Type rules refuse an axis out of range, but take the axis of a tensor with one axis for that one, whatever it is.
    """
    parameter = np.asarray(parameter)
    if parameter.size == 1 or rank == 0:
        return parameter.reshape(())
    shape = [1] * rank
    shape[axis if rank > 1 else 0] = -1
    return parameter.reshape(shape)


def limits(dtype: str | np.dtype) -> tuple[int, int]:
    """The least and greatest number of an integer dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def saturate(x: np.ndarray, dtype: str | np.dtype) -> np.ndarray:
    """Integers clipped to the range of `dtype`."""
    low, high = limits(dtype)
    return np.clip(x, low, high).astype(dtype)


def highest_real(dtype: str | np.dtype) -> int:
    """The greatest number of an integer dtype that float32 holds: of int32 it is 2^31 - 128."""
    high = limits(dtype)[1]
    return high if high < 2**24 else high - high % 2**7


def saturate_float(x: np.ndarray, dtype: str | np.dtype) -> np.ndarray:
    """Floating-point integers clipped to the range of `dtype`, up to the largest numbers of their own type; NaN as `cast` converts it."""
    low, high = limits(dtype)
    high = highest_real(dtype) if x.dtype == np.float32 else high
    return convert(limited(x, x.dtype.type(low), x.dtype.type(high)), np.dtype(dtype))


def round_away(x: np.ndarray) -> np.ndarray:
    """Rounded to whole numbers, a half away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(x.dtype)


def quantize(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, dtype: str, rounding: str = AWAY) -> np.ndarray:
    """`round(x / scale) + zero_point`, clipped to `dtype`, in float32; the parameters broadcast."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = x.astype(np.float32) / np.asarray(scale, np.float32)
        rounded = np.rint(quotient) if rounding == EVEN else round_away(quotient)
    return saturate_float(rounded + np.asarray(zero_point).astype(np.float32), dtype)


def dequantize(x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    """`(x - zero_point) * scale` in float32; the parameters broadcast."""
    shifted = x.astype(np.int32) - np.asarray(zero_point, np.int32)
    return shifted.astype(np.float32) * np.asarray(scale, np.float32)


def requantize(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray,
    out_scale: np.ndarray,
    out_zero_point: np.ndarray,
    dtype: str,
    axis: int = -1,
    rounding: str = "UPWARD",
    compute_dtype: str = "int64",
) -> np.ndarray:
    """Integers of one scale and zero point as integers of another; the first may be given per channel of `axis`."""
    factors = along(scale, x.ndim, axis).astype(np.float64) / np.asarray(out_scale, np.float32).astype(np.float64)
    zero = along(zero_point, x.ndim, axis).astype(np.int32)
    if compute_dtype == "int64":
        total = fixed_point_multiply(x.astype(np.int32) - zero, factors, rounding) + np.int32(out_zero_point)
        return total if np.dtype(dtype) == np.int32 else saturate(total, dtype)
    number = np.dtype(compute_dtype).type
    real = (x.astype(number) - zero.astype(number)) * factors.astype(number) + number(out_zero_point)
    whole = np.floor(real + number(0.5)) if rounding == "UPWARD" else round_away(real)
    return saturate(convert(whole, "int32"), dtype)  # cast, as in TVM
