"""Gradients of the operators that compute gradients of layers, for second derivatives."""

from __future__ import annotations

from itertools import product
from typing import Any

from ...deferred import np
from ...ir import Expr, TensorType
from ...ops.base import call, operators
from ...ops.dtypes import numpy_dtype
from ...ops.nn.geometry import pad_amounts, reached
from ...ops.nn.pool import spatial_axes
from ...ops.nn.pool_reference import lowest
from ..core.constants import scalar_constant
from .axis_map import along_axis, padded
from .rule import GradientSite, gradient, zeros_like


@gradient("nn.conv2d_backward_weight")
def conv2d_backward_weight(s: GradientSite) -> list[Expr]:
    """A convolution for the gradient, a transposed one for the data: it is linear in either."""
    a = s.attrs
    out_layout = a.out_layout or "OIHW"
    layouts = (a.data_layout, a.kernel_layout, out_layout)
    if not all(layout.isalpha() and len(layout) == 4 for layout in layouts):
        raise s.refuse(f"is defined for layouts without blocks, not {', '.join(layouts)}")
    grad, data = s.args
    data_type = s.types[1]
    assert isinstance(data_type, TensorType)
    if data_type.dtype != s.dtype:
        data = call("cast", data, dtype=s.dtype)
    channels = s.shape()[a.data_layout.index("C")]
    weights = s.grad if s.result_dtype == s.dtype else call("cast", s.grad, dtype=s.dtype)
    if s.result_shape[out_layout.index("O")] != channels:
        raise s.refuse("is defined for weights with an axis of the channels that go out")
    sizes = [
        (s.shape(1)[a.kernel_layout.index(c)], s.shape()[a.data_layout.index(c)], s.result_shape[out_layout.index(c)])
        for c in "HW"
    ]
    pads = pad_amounts(a.padding, 2)
    beyond = [
        size - ((steps - 1) * stride - before - after + gap * (kernel - 1) + 1)
        for (size, steps, kernel), stride, (before, after), gap in zip(sizes, a.strides, pads, a.dilation, strict=True)
    ]
    around = {
        "strides": a.strides,
        "dilation": a.dilation,
        "groups": a.groups,
        "padding": (*(before for before, _ in pads), *(after for _, after in pads)),
        "out_dtype": s.dtype,
        "kernel_size": tuple(kernel for *_, kernel in sizes),
    }
    of_grad = call(
        "nn.conv2d",
        data,
        weights,
        channels=channels,
        data_layout=a.kernel_layout,
        kernel_layout=out_layout,
        out_layout=a.data_layout if a.data_layout != a.kernel_layout else "",
        **around,
    )
    of_data = call(
        "nn.conv2d_transpose",
        grad,
        weights,
        channels=s.shape(1)[a.kernel_layout.index("C")],
        output_padding=beyond,
        data_layout=a.data_layout,
        kernel_layout=out_layout.translate(str.maketrans("OI", "IO")),
        out_layout=a.kernel_layout if a.data_layout != a.kernel_layout else "",
        **around,
    )
    return [of_grad, of_data if data_type.dtype == s.dtype else call("cast_like", of_data, s.args[1])]


@gradient("nn.avg_pool2d_grad")
def avg_pool2d_grad(s: GradientSite) -> list[Expr]:
    """The pool of the gradient; the data only give a shape."""
    a = s.attrs
    if a.ceil_mode and a.count_include_pad:
        raise s.refuse("is not defined for windows that reach beyond padding that counts")
    pooled = call(
        "nn.avg_pool2d",
        s.grad,
        pool_size=a.pool_size,
        strides=a.strides,
        dilation=a.gaps,
        padding=a.padding,
        layout=a.layout,
        ceil_mode=a.ceil_mode,
        count_include_pad=a.count_include_pad,
    )
    return [_front(s, pooled), zeros_like(s.args[1])]


@gradient("nn.max_pool2d_grad")
def max_pool2d_grad(s: GradientSite) -> list[Expr]:
    """To each window the gradient of the element that is its first maximum; the data are flat but where maxima change places."""
    a, windows, shape = s.attrs, s.shape(), s.shape(1)
    axes = spatial_axes(a.layout, "HW", len(shape))
    pads: Any = pad_amounts(a.padding, 2)
    ends = reached([shape[i] for i in axes], [windows[i] for i in axes], a.pool_size, a.strides, a.gaps, pads)
    widths = [tuple(map(int, ends[axes.index(i)])) if i in axes else (0, 0) for i in range(len(shape))]
    least = scalar_constant(lowest(np.dtype(numpy_dtype(s.dtype))), s.dtype)
    data = call("nn.pad", s.args[1], least, pad_width=tuple(widths), pad_mode="constant")
    grad = padded(s.grad, s.dtype, widths)  # type: ignore[arg-type]  # pairs
    largest: Expr | None = None
    chosen: Expr | None = None
    for tap in product(*map(range, a.pool_size)):
        seen: Expr = data
        part: Expr = grad
        for axis, t, gap, stride in zip(axes, tap, a.gaps, a.strides, strict=True):
            first, last = t * gap, t * gap + (windows[axis] - 1) * stride + 1
            seen, part = (along_axis(e, axis, first, last, stride) for e in (seen, part))
        if largest is None or chosen is None:
            largest, chosen = seen, part
            continue
        is_larger = call("greater", seen, largest)
        largest, chosen = (call("where", is_larger, *pair) for pair in ((seen, largest), (part, chosen)))
    assert chosen is not None
    return [chosen, zeros_like(s.args[1])]


def _front(s: GradientSite, pooled: Expr) -> Expr:
    """As many windows as the first argument has: the gradient of a pool may lack the last ones."""
    attrs, shape, data = s.attrs, s.shape(), s.shape(1)
    pool = operators.get("nn.avg_pool2d").make(
        {
            "pool_size": attrs.pool_size,
            "strides": attrs.strides,
            "dilation": attrs.gaps,
            "padding": attrs.padding,
            "layout": attrs.layout,
            "ceil_mode": attrs.ceil_mode,
        }
    )
    axes = spatial_axes(attrs.layout, "HW", len(shape))
    extents = pool.extents([data[a] for a in axes])  # type: ignore[attr-defined]  # a pool
    have = [int(extents[axes.index(i)]) if i in axes else d for i, d in enumerate(shape)]
    return padded(pooled, s.dtype, [(0, n - m) for n, m in zip(shape, have, strict=True)])
