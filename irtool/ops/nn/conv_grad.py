"""The gradient of a convolution by its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert
from ..partial import meet_dims, permuted, window_input
from ..shapes import add, floordiv, require_compatible, tensor
from .blocks import unfilled
from .conv import exactly
from .conv_expression import Stored, weight_gradient
from .convolve import convolve_weight_gradient
from .geometry import dilated, in_layout, pad_amounts, parse_layout, per_axis, per_group, positions


def require_windows(declared: Dim, computed: Dim, axis: int) -> None:
    """RelationError where the gradient has other positions than the convolution, but for those that a stride leaves out."""
    require_compatible(
        declared, computed, f"the extents of the gradient and of the convolution along spatial axis {axis}"
    )


@operator(
    "nn.conv2d_backward_weight", "grad", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv2DAttrs", level=2
)
@dataclass(frozen=True)
class Conv2DBackwardWeight(Operator):
    """Gradient of `nn.conv2d` by its weights, from the gradient by its result and the data.

    The layouts are those of the three tensors in order: `data_layout` of the gradient, `kernel_layout` of the data,
    `out_layout` of the result. `kernel_size` must be given.
    """

    narrowed_attribute = "out_dtype"
    layout_rule = "convolution"

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DType = VOID

    dtype_attribute = "out_dtype"
    one_dtype = ("grad", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The type of the weights: channels of the gradient and of the data, and `kernel_size`, in `out_layout`."""
        grad, data = tensor(types[0], "the gradient"), tensor(types[1], "the data")
        if grad is None or data is None:
            return None
        if self.kernel_size is None:
            raise RelationError("kernel_size must be given")
        kernel = exactly(self.kernel_size, 2, "kernel_size")
        x = in_layout(data.shape, parse_layout(self.kernel_layout, "NCHW", "kernel_layout"), "NCHW", "the data")
        g = in_layout(grad.shape, parse_layout(self.data_layout, "NCHW", "data_layout"), "NCHW", "the gradient")
        if not isinstance(x[1], int) or not isinstance(g[1], int):
            raise RelationError(f"the channels must be numbers, not {x[1]} and {g[1]}")
        if x[1] == g[1] == self.groups:
            if self.channels is None:
                raise RelationError("channels must be given for a depthwise convolution")
            depth = floordiv(self.channels, self.groups)
        else:
            depth = floordiv(x[1], self.groups)
        require_compatible(g[0], x[0], "the batches of the gradient and the data")
        pads = pad_amounts(self.padding, 2)
        strides, dilation = per_axis(self.strides, 2, "strides"), per_axis(self.dilation, 2, "dilation")
        per_group(x[1], self.groups, "input")
        per_group(g[1], self.groups, "output")
        for i in range(2):
            reach = dilated(kernel[i], dilation[i])
            require_windows(g[2 + i], positions(x[2 + i], add(*pads[i]), reach, strides[i]), i)
        target = parse_layout(self.out_layout, "OIHW", "out_layout")
        shape = in_layout((g[1], depth, *kernel), "OIHW", target, "the result")
        return TensorType(shape, self.out_dtype or grad.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        grad, data = permuted(args[0], self.data_layout, "NCHW"), permuted(args[1], self.kernel_layout, "NCHW")
        weight = permuted(out, self.out_layout, "OIHW")
        if self.kernel_size is None or not (grad or data or weight):
            return list(args), out
        g, x, w = ([*(s or (None,) * 4)] for s in (grad, data, weight))
        w[2:] = map(meet_dims, w[2:], self.kernel_size)
        g[0] = x[0] = meet_dims(g[0], x[0], "the number of images")
        g[1] = w[0] = meet_dims(g[1], w[0], "the number of channels")
        if self.groups == 1 and (x[1] or w[1] or 1) != 1:  # with one channel on either side, `channels` has a say
            x[1] = w[1] = meet_dims(x[1], w[1], "the number of input channels")
        for i, pad in enumerate(pad_amounts(self.padding, 2)):
            reach = dilated(self.kernel_size[i], self.dilation[i % len(self.dilation)])
            stride = self.strides[i % len(self.strides)]
            size = x[2 + i]
            if size is not None:
                g[2 + i] = meet_dims(g[2 + i], positions(size, add(*pad), reach, stride), f"spatial axis {i}")
            x[2 + i] = meet_dims(x[2 + i], window_input(g[2 + i], reach, stride, pad))
        known = [
            permuted(tuple(g), "NCHW", self.data_layout) or args[0],
            permuted(tuple(x), "NCHW", self.kernel_layout) or args[1],
        ]
        return known, permuted(tuple(w), "OIHW", self.out_layout) or out

    def evaluate(self, grad: np.ndarray, data: np.ndarray) -> np.ndarray:
        assert self.kernel_size is not None
        g, x = convert(grad, self.data_layout, "NCHW"), convert(data, self.kernel_layout, "NCHW")
        pads: Any = pad_amounts(self.padding, 2)
        out_dtype = self.out_dtype or grad.dtype
        w = convolve_weight_gradient(g, x, self.kernel_size, self.strides, pads, self.dilation, self.groups, out_dtype)
        return convert(w, "OIHW", self.out_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        grad, data = inputs
        g = Stored(grad, Layout.parse(self.data_layout), "NCHW")
        x = Stored(data, Layout.parse(self.kernel_layout), "NCHW")
        pads: Any = pad_amounts(self.padding, 2)
        out_layout = Layout.parse(self.out_layout)
        if (result := unfilled(self, inputs, out_type, out_layout, "OIHW")) is not None:
            return result
        return weight_gradient(g, x, out_type, out_layout, self.strides, pads, self.dilation, self.groups)
