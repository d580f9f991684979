"""Rescaling of sums in 64 bits, as operators with activations of 16 bits have them."""

from __future__ import annotations

from collections.abc import Sequence

from ...deferred import np
from ..onnx.arithmetic import cast
from ..onnx.value import Value, apply
from .quantities import multiplier_and_shift


def wide_rescaled(x: Value, factors: float | Sequence[float], axis: int = -1) -> Value:
    """int64 times real factors, in int32: with the upper 16 bits of the multiplier, rounded once, a half up."""
    pairs = [multiplier_and_shift(float(f)) for f in np.atleast_1d(np.asarray(factors, np.float64))]
    reduced = np.array([(m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF for m, _ in pairs], np.int64)
    total = np.array([15 - s for _, s in pairs], np.int64)
    if len(pairs) == 1:
        reduced, total = reduced.reshape(()), total.reshape(())
    else:
        behind = (-1,) + (1,) * (x.rank - 1 - axis % x.rank)
        reduced, total = reduced.reshape(behind), total.reshape(behind)
    half = np.int64(1) << (total - 1)
    product = apply("add", apply("multiply", x, Value.constant(reduced)), Value.constant(np.asarray(half)))
    return cast(apply("right_shift", product, Value.constant(total)), "int32")
