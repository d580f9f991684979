"""Convolutions of integer tensors minus their zero points, exactly, in int32."""

from __future__ import annotations

from ....deferred import np
from ..quantities import one_if_equal
from ..sliding import Windows
from ..value import Value, apply


def integer_conv(x: Value, w: Value, x_zero: Value, w_zero: Value, windows: Windows, group: int) -> Value:
    """The convolution of `(N, C, …)` with `(O, C / group, …)`; the zero point of the weights may be a vector along `O`.

    Padding stands for real zeros, so it holds the zero point. One and two axes are a `qnn.conv2d`.
    """
    shape = w.extents("the weights of the convolution")
    w_zero = one_if_equal(w_zero)
    kernel, rank = windows.kernel, windows.rank
    padding = windows.padding(x, "the data of the convolution")
    attributes = {"groups": group, "channels": shape[0], "out_dtype": "int32"}
    if rank > 2:
        wide = [_shifted(x, x_zero), _shifted(w, _by_channel(w_zero, rank + 2))]
        return apply(
            f"nn.conv{rank}d",
            *wide,
            strides=windows.strides,
            padding=padding,
            dilation=windows.dilations,
            kernel_size=kernel,
            **attributes,
        )
    if rank == 1:
        x, w = x.call("expand_dims", axis=2), w.call("expand_dims", axis=2)
        windows = Windows.of((1, *kernel), (1, *windows.strides), None, (1, *windows.dilations))
        padding = (0, padding[0], 0, padding[1])
    scale = Value.constant(np.float32(1))
    out = apply(
        "qnn.conv2d",
        x,
        w,
        x_zero,
        w_zero,
        scale,
        scale,
        strides=windows.strides,
        padding=padding,
        dilation=windows.dilations,
        kernel_size=windows.kernel,
        **attributes,
    )
    return out.call("squeeze", axis=[2]) if rank == 1 else out


def _by_channel(zero: Value, rank: int) -> Value:
    return zero.call("reshape", newshape=[-1] + [1] * (rank - 1)) if zero.rank else zero


def _shifted(x: Value, zero: Value) -> Value:
    return apply("subtract", x.call("cast", dtype="int32"), zero)
