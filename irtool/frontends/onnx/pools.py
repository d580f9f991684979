"""Relay's pools for windows of ONNX, whose number may be rounded up."""

from __future__ import annotations

from typing import Any

from .arithmetic import scalar
from .sliding import LETTERS, Windows, spatial_extents
from .value import Value


def pool(
    kind: str, x: Value, windows: Windows, ceil_mode: bool, of: tuple[Value, Windows] | None = None, **attributes: Any
) -> Value:
    """The pool of Relay of that kind (`max` or `avg`); `of` is the tensor, with its windows, that `x` is with its pads."""
    windows.require_fit(x, "the data of the pool")
    padding = windows.padding(x, "the data of the pool")
    if ceil_mode:
        padding = rounded_up(x, windows, padding, of)
    rank = windows.rank
    return x.call(
        f"nn.{kind}_pool{rank}d",
        pool_size=windows.kernel,
        strides=windows.strides,
        dilation=windows.dilations,
        padding=padding,
        layout=f"NC{LETTERS[rank]}",
        **attributes,
    )


def average(x: Value, windows: Windows, ceil_mode: bool, count_include_pad: bool, counts_beyond: bool = False) -> Value:
    """The mean of each window; elements beyond the data count only with `count_include_pad`, as zeros, and those beyond the pads,
    too, only with `counts_beyond`."""
    if counts_beyond or not (count_include_pad and ceil_mode):
        return pool("avg", x, windows, ceil_mode, count_include_pad=count_include_pad)
    # Zeros of the pads count, those that rounding up adds do not.
    inner = padded(x, windows.padding(x, "the data of the pool"), 0)
    unpadded = Windows.of(windows.kernel, windows.strides, None, windows.dilations)
    return pool("avg", inner, unpadded, True, count_include_pad=False, of=(x, windows))


def rounded_up(
    x: Value, windows: Windows, padding: tuple[int, ...], of: tuple[Value, Windows] | None = None
) -> tuple[int, ...]:
    """The padding with which the number of windows is rounded up: the last one may end behind the pads, but begins before.

    PyTorch counts so, and ONNX since it says so.
    """
    n = windows.rank
    data, pads = x, padding
    if of is not None:
        data, pads = of[0], of[1].padding(of[0], "the data of the pool")
    behind = []
    for i, size in enumerate(spatial_extents(data, "the data of a pool whose number of windows is rounded up")):
        before, after, stride, reach = pads[i], pads[n + i], windows.strides[i], windows.reach[i]
        last = -(-(size + before + after - reach) // stride)
        if last * stride >= size + before:
            last -= 1
        padded = size + before + (after if of is not None else 0)
        behind.append(max(last * stride + reach - padded, 0))
    return (*padding[:n], *behind)


def padded(x: Value, padding: tuple[int, ...], value: float) -> Value:
    """The tensor with its spatial axes padded by constants."""
    n = len(padding) // 2
    if not any(padding):
        return x
    width = [(0, 0), (0, 0), *zip(padding[:n], padding[n:], strict=True)]
    return x.call("nn.pad", scalar(value, x.dtype), pad_width=width)
