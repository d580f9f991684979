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
    function: Callable[[Any], Any], low: float, high: float, factor: float, dtype: str = "float64"
) -> Any:
    """The table of a function between two numbers, times `factor`, in 16 bits: each value is corrected by half of the error of the
    interpolation in the middle behind it, as `gen_lut` makes it in floating point of that type.
    """
    kind = np.dtype(dtype).type
    step = (kind(high) - kind(low)) / kind(_STEPS)
    points = kind(low) + np.arange(_STEPS, dtype=kind) * step
    following = kind(low) + np.arange(1, _STEPS + 1, dtype=kind) * step

    def steps(at_points: Any) -> Any:
        return function(at_points).astype(kind) * kind(factor)

    with np.errstate(all="ignore"):
        sample = rounded(steps(points))
        interpolated_middle = rounded((steps(following) + sample) / kind(2))
        error = interpolated_middle - rounded(steps(points + step / kind(2)))
        last = rounded(steps(np.asarray([high], kind)))
        values = np.concatenate([sample - rounded(error / kind(2)), last])
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
    least, greatest = (out.scales[0] * np.float32(n - zero_of(out)) for n in (-32768, 32767))
    factor = np.float32(65536) / max(greatest - least, np.finfo("float32").tiny)
    table = interpolation_table(function, float(low), float(high), float(factor), "float32")
    return cast(interpolated(x.value, table), "int16")
