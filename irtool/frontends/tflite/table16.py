"""Functions of 16-bit integers by a table of 513 values, interpolated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...deferred import np
from ..onnx.arithmetic import cast
from ..onnx.value import Value, apply
from .model import Quantization
from .operator import Operand
from .quantities import number, plus, require_scalar, rounded, zero_of

_STEPS = 512
"""Intervals of a table."""


def interpolation_table(
    function: Callable[[Any], Any], low: float, high: float, scale: float = 1 / 32768, zero: int = 0, dtype: Any = None
) -> Any:
    """The table of a function between two numbers, in steps of `scale` and a zero point: each value corrected by half of the mean error
    of the interpolation beside it, as `gen_lut` makes it.
    """
    kind = dtype or np.float64
    low, high, inverse = kind(low), kind(high), kind(1) / kind(scale)
    step = (high - low) / kind(_STEPS)
    half = step / kind(2)
    points = low + np.arange(_STEPS, dtype=kind) * step
    with np.errstate(all="ignore"):
        sample = rounded(function(points).astype(kind) * inverse)
        following = function(points + step).astype(kind) * inverse
        middle = rounded(function(points + half).astype(kind) * inverse)
        interpolated = (
            rounded((following + sample) / kind(2)) if dtype is None else (rounded(following) + sample) / kind(2)
        )
        error = interpolated - middle
        bias = rounded(error / kind(2))
        last = rounded(function(np.asarray([high], kind)).astype(kind) * inverse)
        values = np.concatenate([sample - bias, last]) + zero
    return np.clip(np.nan_to_num(values), -32768, 32767).astype(np.int16)


def interpolated(x: Value, table: Any) -> Value:
    """The values of a table of 513 at 16-bit numbers: of the upper 9 bits, and between them by the lower 7."""
    wide = cast(x, "int32")
    places = plus(apply("right_shift", wide, number(7)), 256)
    constant = Value.constant(np.asarray(table, np.int32))
    base = apply("take", constant, places, axis=0, mode="fast")
    following = apply("take", constant, plus(places, 1), axis=0, mode="fast")
    rest = apply("bitwise_and", wide, number(127))
    slope = apply("subtract", following, base)
    delta = apply("right_shift", plus(apply("multiply", slope, rest), 64), number(7))
    return apply("add", base, delta)


def by_interpolation(x: Operand, out: Quantization, function: Callable[[Any], Any]) -> Value:
    """A function of real numbers of a tensor of 16 bits."""
    q = require_scalar(x)
    scale = np.float32(q.scales[0])
    low, high = scale * np.float32(-32768 - zero_of(q)), scale * np.float32(32767 - zero_of(q))
    table = interpolation_table(function, float(low), float(high), float(out.scales[0]), zero_of(out), np.float32)
    return cast(interpolated(x.value, table), "int16")
