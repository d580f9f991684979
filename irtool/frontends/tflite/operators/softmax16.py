"""Softmax of 16-bit tensors, by tables of exponentials and of reciprocals."""

from __future__ import annotations

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand
from ..quantities import limited, number, plus, require_scalar, rescaled
from ..table16 import interpolated, interpolation_table


def softmax(x: Operand, beta: float) -> Value:
    """Softmax along the last axis, 15 bits behind the point."""
    scale = float(require_scalar(x).scales[0] * np.float32(beta)) / (10.0 / 65535.0)
    powers = interpolation_table(np.exp, -10.0, 0.0, 32768)
    reciprocals = interpolation_table(lambda r: 1 / (1 + r), 0.0, 1.0, 32768)
    wide = cast(x.value, "int32")
    below = apply("subtract", wide, wide.call("max", axis=[-1], keepdims=True))
    places = limited(plus(rescaled(below, scale), 32767), -32768, 32767)
    exponentials = interpolated(places, powers)
    total = exponentials.call("sum", axis=[-1], keepdims=True)
    # The highest bit of each sum is the number of powers of two that it reaches.
    steps = Value.constant((np.int64(1) << np.arange(31)).astype(np.int32))
    bits = cast(total.call("greater_equal", steps), "int32").call("sum", axis=[-1], keepdims=True)
    headroom = apply("subtract", number(31), bits)
    shifted = apply("left_shift", cast(total, "int64"), cast(headroom, "int64"))
    rounded = apply("right_shift", apply("add", shifted, _wide(1 << 13)), _wide(14))
    symmetric = limited(plus(cast(rounded, "int32"), -((1 << 15) + (1 << 16))), -32768, 32767)
    reciprocal = interpolated(symmetric, reciprocals)
    right = plus(apply("negative", headroom), 30)
    half = apply("left_shift", number(1), plus(right, -1))
    product = apply("add", apply("multiply", exponentials, reciprocal), half)
    return cast(limited(apply("right_shift", product, right), 0, 32767), "int16")


def _wide(value: int) -> Value:
    return Value.constant(np.int64(value))
