"""Normalizations by the data's own statistics, as the operators that Relay has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .arithmetic import add, cast, multiply, subtract
from .memory_limit import filled
from .value import Value


def layer_norm(x: Value, scale: Value | None, b: Value | None, axis: int, epsilon: float) -> Value:
    """`nn.layer_norm` over all axes from `axis` on: along the last one, or along all of them as one."""
    axis = x.axis(axis)
    if axis == x.rank - 1 and all(p is None or p.rank == 1 for p in (scale, b)):
        return _along_last(x, scale, b, epsilon)
    rest = [x.extent(k, "the data that is normalized") for k in range(axis, x.rank)]
    flat = x.call("reshape", newshape=[*[0] * axis, math.prod(rest)])
    vectors = [None if p is None else _as_vector(p, rest) for p in (scale, b)]
    return _along_last(flat, vectors[0], vectors[1], epsilon).call("reshape", newshape=[*[0] * axis, *rest])


def _along_last(x: Value, scale: Value | None, b: Value | None, epsilon: float) -> Value:
    n = x.extent(-1, "the data that is normalized")
    gamma = (
        Value.constant(filled(n, 1, "the scale"), x.dtype) if scale is None else cast(_as_vector(scale, [n]), x.dtype)
    )
    beta = Value.constant(filled(n, 0, "the shift"), x.dtype) if b is None else cast(_as_vector(b, [n]), x.dtype)
    return x.call("nn.layer_norm", gamma, beta, axis=-1, epsilon=epsilon, center=b is not None, scale=scale is not None)


def _as_vector(p: Value, shape: Sequence[int]) -> Value:
    """A parameter that broadcasts to the shape, as a vector of all its elements."""
    if tuple(p.shape) != tuple(shape):
        p = p.call("broadcast_to", shape=list(shape))
    return p if p.rank == 1 else p.call("reshape", newshape=[math.prod(shape)])


def statistics(x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value]:
    """The mean over axes, which stay with extent 1, and `1 / sqrt(variance + epsilon)`."""
    mean = x.call("mean", axis=list(axes), keepdims=True)
    centred = subtract(x, mean)
    variance = multiply(centred, centred).call("mean", axis=list(axes), keepdims=True)
    return mean, add(variance, epsilon).call("rsqrt")


def rms_norm(x: Value, scale: Value | None, axis: int, epsilon: float, compute: str) -> Value:
    """`x / sqrt(mean(x ** 2) + epsilon) * scale` over all axes from `axis` on; the mean is taken in the type `compute`."""
    axis = x.axis(axis)
    wide = cast(x, compute)
    mean = multiply(wide, wide).call("mean", axis=list(range(axis, x.rank)), keepdims=True)
    normalized = cast(multiply(wide, add(mean, epsilon).call("rsqrt")), x.dtype)
    return normalized if scale is None else multiply(normalized, cast(scale, x.dtype))
