"""Convolutions over one to three spatial axes."""

from __future__ import annotations

from ..counts import require_count
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..sliding import LETTERS, weight_windows
from ..value import Value


def convolve(
    x: Value,
    w: Value,
    kernel_shape: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    group: int,
    auto_pad: str,
) -> Value:
    """`nn.conv1d`, `nn.conv2d` or `nn.conv3d`, as ONNX's attributes say; empty ones stand for their defaults."""
    require_count(group, "group")
    windows = weight_windows(x, w, kernel_shape, strides, pads, dilations, auto_pad)
    weights_shape, rank = w.extents("the weights of the convolution"), windows.rank
    return x.call(
        f"nn.conv{rank}d",
        w,
        strides=windows.strides,
        padding=windows.padding(x, "the data of the convolution"),
        dilation=windows.dilations,
        groups=group,
        channels=weights_shape[0],
        kernel_size=weights_shape[2:],
        data_layout=f"NC{LETTERS[rank]}",
        kernel_layout=f"OI{LETTERS[rank]}",
    )


@onnx_operator("Conv")
class Conv(OnnxOperator):
    """A convolution: `(N, C, …)` with weights `(M, C / group, …)`, and a summand for each of the M channels."""

    @since(1, 11, 22)
    def convolution(
        self,
        x: Value,
        w: Value,
        b: Value | None = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = (),
        group: int = 1,
        kernel_shape: tuple[int, ...] = (),
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        y = convolve(x, w, kernel_shape, strides, pads, dilations, group, auto_pad)
        return y if b is None else y.call("nn.bias_add", b, axis=1)
