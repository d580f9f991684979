"""Convolutions of integer tensors minus their zero points, exactly, in int32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError
from .mistakes import DamagedModel
from .value import Value, apply
from .windows import window_padding


@dataclass(frozen=True)
class Windows:
    """The attributes of a convolution."""

    auto_pad: str = "NOTSET"
    dilations: Sequence[int] = ()
    group: int = 1
    kernel_shape: Sequence[int] = ()
    pads: Sequence[int] = ()
    strides: Sequence[int] = ()


def integer_conv(x: Value, w: Value, x_zero: Value, w_zero: Value, at: Windows) -> Value:
    """The convolution of `(N, C, …)` with `(O, C / group, …)`; the zero point of the weights may be a vector along `O`.

    Padding stands for real zeros, so it holds the zero point. One and two axes are a `qnn.conv2d`.
    """
    shape = w.extents("the weights of a convolution")
    kernel, rank = shape[2:], len(shape) - 2
    if x.rank != rank + 2:
        raise IrError(f"data of rank {x.rank} and weights of rank {rank + 2} do not fit together", code=DamagedModel)
    if at.kernel_shape and tuple(at.kernel_shape) != kernel:
        raise IrError(f"kernel_shape is {tuple(at.kernel_shape)}, and the weights are {shape}", code=DamagedModel)
    strides, dilations = list(at.strides) or [1] * rank, list(at.dilations) or [1] * rank
    extents: Sequence[int] = [0] * rank
    if at.auto_pad.startswith("SAME"):
        extents = x.extents("the data of a convolution that is padded to the same size")[2:]
    padding = window_padding(at.auto_pad, at.pads, extents, kernel, strides, dilations)
    attributes = {"groups": at.group, "channels": shape[0], "out_dtype": "int32"}
    if rank > 2:
        wide = [_shifted(x, x_zero), _shifted(w, _by_channel(w_zero, rank + 2))]
        return apply(
            f"nn.conv{rank}d",
            *wide,
            strides=strides,
            padding=padding,
            dilation=dilations,
            kernel_size=kernel,
            **attributes,
        )
    if rank == 1:
        x, w = x.call("expand_dims", axis=2), w.call("expand_dims", axis=2)
        kernel, strides, dilations, padding = (
            (1, *kernel),
            [1, *strides],
            [1, *dilations],
            [0, padding[0], 0, padding[1]],
        )
    scale = Value.constant(np.float32(1))
    out = apply(
        "qnn.conv2d",
        x,
        w,
        x_zero,
        w_zero,
        scale,
        scale,
        strides=strides,
        padding=padding,
        dilation=dilations,
        kernel_size=kernel,
        **attributes,
    )
    return out.call("squeeze", axis=[2]) if rank == 1 else out


def _by_channel(zero: Value, rank: int) -> Value:
    return zero.call("reshape", newshape=[-1] + [1] * (rank - 1)) if zero.rank else zero


def _shifted(x: Value, zero: Value) -> Value:
    return apply("subtract", x.call("cast", dtype="int32"), zero)
