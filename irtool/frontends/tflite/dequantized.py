"""Quantized tensors as real numbers."""

from __future__ import annotations

from ...deferred import np
from ..onnx.arithmetic import cast
from ..onnx.value import Value, apply
from .operator import Operand


def dequantized(x: Operand) -> Value:
    """`scale * (integer - zero point)` in float32; several scales are along an axis."""
    q = x.q
    if q is None:
        return cast(x.value, "float32")
    zeros, scales = q.zeros.astype(np.int32), q.scales
    if q.is_scalar:
        zeros, scales = zeros.reshape(()), scales.reshape(())
    else:
        behind = (-1,) + (1,) * (x.rank - 1 - q.axis)
        zeros, scales = zeros.reshape(behind), scales.reshape(behind)
    shifted = cast(x.value, "int32")
    if zeros.any():
        shifted = apply("subtract", shifted, Value.constant(np.array(zeros)))
    return apply("multiply", cast(shifted, "float32"), Value.constant(np.array(scales)))
