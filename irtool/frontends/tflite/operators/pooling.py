"""Means, maxima and norms over windows of `(N, H, W, C)`."""

from __future__ import annotations

from typing import Any, ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast, multiply
from ...onnx.value import Value, apply
from ..activations import activated, activation_name
from ..operator import EIGHT_BITS, FLOATS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import activation_range, limited, number
from ..room import require_room
from ..windows import padding_of


class _Pool(TfliteOperator):
    types: ClassVar[tuple[str, ...]] = (*FLOATS, *EIGHT_BITS, "int16")

    def convert(
        self,
        x: Operand,
        *,
        padding: int,
        stride_w: int,
        stride_h: int,
        filter_width: int,
        filter_height: int,
        fused_activation_function: int,
    ) -> Result:
        if x.rank != 4:
            raise self.damaged(f"data of rank {x.rank}, not 4")
        window, strides = (filter_height, filter_width), (stride_h, stride_w)
        pads = padding_of(padding, x.shape[1:3], window, strides, (1, 1))
        attributes = {"pool_size": window, "strides": strides, "padding": pads, "layout": "NHWC"}
        if x.dtype not in FLOATS:
            y = self.integers(x, attributes)
            low, high = activation_range(activation_name(fused_activation_function), self.out_q, x.dtype)
            return cast(limited(y, low, high), x.dtype)
        return activated(self.reals(x, attributes), fused_activation_function)

    def reals(self, x: Operand, attributes: dict[str, Any]) -> Value:
        raise NotImplementedError

    def integers(self, x: Operand, attributes: dict[str, Any]) -> Value:
        raise self.refuse(f"elements of {x.dtype}")


@tflite_operator("MAX_POOL_2D")
class MaxPool(_Pool):
    """The largest element of each window."""

    def reals(self, x: Operand, attributes: dict[str, Any]) -> Value:
        return x.call("nn.max_pool2d", **attributes)

    integers = reals


@tflite_operator("AVERAGE_POOL_2D")
class AveragePool(_Pool):
    """The mean of each window, of those elements that are in the data; of integers a half is rounded away from zero."""

    def reals(self, x: Operand, attributes: dict[str, Any]) -> Value:
        return x.call("nn.avg_pool2d", count_include_pad=False, **attributes)

    def integers(self, x: Operand, attributes: dict[str, Any]) -> Value:
        window, strides, pads = attributes["pool_size"], attributes["strides"], attributes["padding"]
        channels = x.shape[3]
        require_room(*x.shape[1:3], what="the numbers of elements of windows")
        require_room(*window, channels, what="the window of a mean")
        counts = np.outer(*(_counts(x.shape[1 + i], window[i], strides[i], pads[i], pads[2 + i]) for i in (0, 1)))
        if window == x.shape[1:3] and not any(pads):
            sums = cast(x.value, "int32").call("sum", axis=[1, 2], keepdims=True)
        else:
            ones = Value.constant(np.ones((*window, channels, 1), np.int8 if x.dtype != "int16" else np.int32))
            conv = {
                "strides": strides,
                "padding": pads,
                "groups": channels,
                "channels": channels,
                "kernel_size": window,
                "data_layout": "NHWC",
                "kernel_layout": "HWOI",
                "out_dtype": "int32",
            }
            if x.dtype == "int16":
                sums = apply("nn.conv2d", cast(x.value, "int32"), ones, **conv)
            else:
                one = Value.constant(np.float32(1))
                sums = apply("qnn.conv2d", x.value, ones, number(0), number(0), one, one, **conv)
        return mean_of(sums, counts.reshape(1, *counts.shape, 1))


def mean_of(sums: Value, counts: Any) -> Value:
    """Sums in int32 divided by numbers of elements, a half away from zero."""
    counts = np.asarray(counts, np.int32)
    if counts.size and (counts == counts.flat[0]).all():
        counts = counts.reshape(-1)[0]
    if counts.size == 1 and int(counts) == 1:
        return sums
    half = Value.constant(np.asarray(counts // 2, np.int32))
    less = apply("subtract", sums, half)
    shifted = apply("where", sums.call("greater", number(0)), sums.call("add", half), less)
    return apply("trunc_divide", shifted, Value.constant(counts))


def _counts(n: int, window: int, stride: int, before: int, after: int) -> Any:
    """The elements of each window that are in the data, along one axis."""
    starts = np.arange(0, n + before + after - window + 1, stride) - before
    return np.minimum(starts + window, n) - np.maximum(starts, 0)


@tflite_operator("L2_POOL_2D")
class L2Pool(_Pool):
    """The root of the mean of squares of each window."""

    types: ClassVar[tuple[str, ...]] = ("float32",)

    def reals(self, x: Operand, attributes: dict[str, Any]) -> Value:
        return multiply(x.value, x.value).call("nn.avg_pool2d", count_include_pad=False, **attributes).call("sqrt")
