"""Gradients of pooling over windows, over everything, and over a number of windows.

TVM has operators for two dimensions. One dimension is images of height 1; three are two steps, over images and over depth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...deferred import np
from ...ir import Expr, TensorType
from ...ops.base import call, operators
from ...ops.nn.geometry import pad_amounts
from ...ops.nn.pool import spatial_axes
from ...ops.nn.pool_reference import adaptive_bounds, window_counts
from ..core.arithmetic import divide, multiply
from ..core.constants import array_constant, scalar_constant
from ..core.reshaping import reshape_to
from .axis_map import copied_along_axis
from .linear import transposed_along_axis
from .rule import GradientSite, gradient


def _windows(s: GradientSite) -> dict[str, Any]:
    """The windows of a pool as its gradient takes them: the dilation empty, as TVM writes it, where they have no gaps."""
    attrs = s.attrs
    return {
        "pool_size": attrs.pool_size,
        "strides": attrs.strides,
        "dilation": () if all(d == 1 for d in attrs.dilation) else attrs.dilation,
        "padding": attrs.padding,
        "layout": attrs.layout,
        "ceil_mode": attrs.ceil_mode,
    }


def _require_one_layout(s: GradientSite) -> None:
    """Raises IrError for results in another layout, which the operators that compute gradients of pools do not have."""
    attrs = s.attrs
    if attrs.out_layout not in ("", attrs.layout):
        raise s.refuse(f"is defined for results of the data's layout, {attrs.layout}, not {attrs.out_layout}")


@gradient("nn.max_pool2d")
def max_pool2d(s: GradientSite) -> list[Expr]:
    """To the maximum of each window."""
    _require_one_layout(s)
    return [call("nn.max_pool2d_grad", s.grad, s.args[0], **_windows(s))]


@gradient("nn.avg_pool2d")
def avg_pool2d(s: GradientSite) -> list[Expr]:
    """Evenly over each window."""
    _require_one_layout(s)
    attrs = s.attrs
    return [
        call(
            "nn.avg_pool2d_grad",
            _by_counted_padding(s) if attrs.ceil_mode and attrs.count_include_pad else s.grad,
            s.args[0],
            **_windows(s),
            count_include_pad=attrs.count_include_pad,
        )
    ]


def _by_counted_padding(s: GradientSite) -> Expr:
    """The gradient, larger for windows that reach beyond the padding: elements beyond it do not count to the mean of the window,
    and `nn.avg_pool2d_grad` divides by the extents of the window."""
    attrs = s.attrs
    rank = len(s.shape())
    axes = spatial_axes(attrs.layout, "HW", rank)
    assert isinstance(s.type, TensorType)
    factor: np.ndarray = np.ones([1] * rank)
    pads = pad_amounts(attrs.padding, 2)
    for axis, kernel, stride, gap, pad in zip(axes, attrs.pool_size, attrs.strides, attrs.dilation, pads, strict=True):
        counts = window_counts(s.shape()[axis], kernel, stride, pad, gap, s.type.static_shape[axis], True)
        factor = factor * (kernel / counts).reshape([-1 if a == axis else 1 for a in range(rank)])
    return s.grad if (factor == 1).all() else multiply(s.grad, array_constant(factor, s.dtype))


@gradient("nn.max_pool1d", "nn.avg_pool1d")
def pool1d(s: GradientSite) -> list[Expr]:
    """As of images of height 1."""
    (axis,) = spatial_axes(s.attrs.layout, "W", len(s.shape()))
    images = _Images(s, (None, 0), s.attrs.layout.replace("W", "HW"))
    shapes = ((*shape[:axis], 1, *shape[axis:]) for shape in (s.shape(), s.result_shape))
    data, grad = (reshape_to(e, shape) for e, shape in zip((s.args[0], s.grad), shapes, strict=True))
    return [reshape_to(images.gradient(data, (*s.shape()[:axis], 1, *s.shape()[axis:]), grad), s.shape())]


@gradient("nn.max_pool3d", "nn.avg_pool3d")
def pool3d(s: GradientSite) -> list[Expr]:
    """As of images and then along the depth: the maximum or the mean of those of the slices is that of the volume."""
    layout = s.attrs.layout
    spatial_axes(layout, "DHW", len(s.shape()))
    if not layout.isalpha() or len(layout) != 5:
        raise s.refuse(f"is defined for layouts without blocks, not {layout}")
    own = "NDHWC" if layout == "NDHWC" else "NCDHW"
    order = [layout.index(letter) for letter in own]
    data, grad = (_ordered(e, order) for e in (s.args[0], s.grad))
    n, *rest, w = (s.shape()[a] for a in order)
    if own == "NCDHW":
        c, d, h = rest
        image_shape: tuple[int, ...] = (n * c, d, h, w)
        images, depth = _Images(s, (1, 2), "NCHW"), _Images(s, (0, None), "NCHW")
        heights, widths = images.result(image_shape)[2:]
        depth_shape: tuple[int, ...] = (n * c, 1, d, heights * widths)
    else:
        d, h, w, c = *rest, w
        image_shape = (n * d, h, w, c)
        images, depth = _Images(s, (1, 2), "NHWC"), _Images(s, (0, None), "NHWC")
        heights, widths = images.result(image_shape)[1:3]
        depth_shape = (n, d, heights * widths, c)
    pixels = reshape_to(data, image_shape)
    slices = reshape_to(images.forward(pixels), depth_shape)
    of_slices = depth.gradient(slices, depth_shape, reshape_to(grad, depth.result(depth_shape)))
    of_pixels = images.gradient(pixels, image_shape, reshape_to(of_slices, images.result(image_shape)))
    of_data = reshape_to(of_pixels, [s.shape()[a] for a in order])
    return [_ordered(of_data, [order.index(a) for a in range(5)])]


def _ordered(e: Expr, order: Sequence[int]) -> Expr:
    return e if list(order) == sorted(order) else call("transpose", e, axes=tuple(order))


@dataclass(frozen=True)
class _Images:
    """The pool of images that a step of another pool is.

    Attributes:
        site: the call of the other pool.
        axes: the spatial axes of it that are height and width; None for a window of 1.
        layout: of the images.
    """

    site: GradientSite
    axes: tuple[int | None, int | None]
    layout: str

    @property
    def attributes(self) -> dict[str, Any]:
        a = self.site.attrs
        pads = [(0, 0) if axis is None else pad_amounts(a.padding, a.rank)[axis] for axis in self.axes]

        def along(values: Sequence[int]) -> tuple[int, ...]:
            return tuple(1 if axis is None else values[axis] for axis in self.axes)

        attributes: dict[str, Any] = {
            "pool_size": along(a.pool_size),
            "strides": along(a.strides),
            "dilation": along(a.dilation),
            "padding": (*(before for before, _ in pads), *(after for _, after in pads)),
            "layout": self.layout,
            "ceil_mode": a.ceil_mode,
        }
        return attributes | ({"count_include_pad": a.count_include_pad} if a.average else {})

    @property
    def name(self) -> str:
        return f"nn.{'avg' if self.site.attrs.average else 'max'}_pool2d"

    def forward(self, data: Expr) -> Expr:
        """The images, pooled."""
        return call(self.name, data, **self.attributes)

    def result(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of images of that shape, pooled."""
        axes = spatial_axes(self.layout, "HW", 4)
        extents = operators.get(self.name).make(self.attributes).extents([shape[a] for a in axes])  # type: ignore[attr-defined]  # a pool
        return tuple(int(extents[axes.index(a)]) if a in axes else d for a, d in enumerate(shape))

    def gradient(self, data: Expr, shape: tuple[int, ...], grad: Expr) -> Expr:
        """The gradient with respect to images of that shape."""
        dtype = self.site.dtype
        attrs = operators.get(self.name).make(self.attributes)
        types = (TensorType(shape, dtype),)
        out = call(self.name, data, **self.attributes)
        result = TensorType(self.result(shape), dtype)
        site = replace(self.site, args=(data,), types=types, attrs=attrs, out=out, type=result, grad=grad, sources=())
        (of_data,) = (avg_pool2d if self.site.attrs.average else max_pool2d)(site)
        return of_data


@gradient("nn.global_avg_pool2d")
def global_avg_pool2d(s: GradientSite) -> list[Expr]:
    """Evenly over the image."""
    layout = s.attrs.layout
    axes = spatial_axes(layout, "HW", len(s.shape()))
    window = [s.shape()[a] for a in axes]
    if layout not in ("NCHW", "NHWC"):
        share = multiply(s.grad, scalar_constant(1 / math.prod(window), s.dtype))
        return [call("broadcast_to_like", share, s.args[0])]
    grad = call(
        "nn.avg_pool2d_grad",
        s.grad,
        s.args[0],
        pool_size=window,
        strides=[1, 1],
        dilation=(),
        padding=[0, 0],
        layout=layout,
    )
    return [grad]


@gradient("nn.global_max_pool2d")
def global_max_pool2d(s: GradientSite) -> list[Expr]:
    """Shared evenly between the elements that are the largest."""
    (x,) = s.args
    axes = spatial_axes(s.attrs.layout, "HW", len(s.shape()))
    return [_shared(x, s.out, s.grad, axes)]


def _shared(x: Expr, largest: Expr, grad: Expr, axes: Sequence[int]) -> Expr:
    """The gradient of the largest elements along `axes`, which are 1 in `largest` and `grad`."""
    hits = call("cast_like", call("equal", x, largest), grad)
    return multiply(hits, divide(grad, call("sum", hits, axis=tuple(axes), keepdims=True)))


@gradient("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d")
def adaptive_avg_pool(s: GradientSite) -> list[Expr]:
    """Evenly over each window, one axis after the other."""
    grad, shape = s.grad, list(s.result_shape)
    for axis in spatial_axes(s.attrs.layout, s.attrs.letters, len(shape)):
        extent = s.shape()[axis]
        weights = np.zeros((shape[axis], extent))
        for row, (start, end) in zip(weights, adaptive_bounds(extent, shape[axis]) if shape[axis] else (), strict=True):
            row[start:end] = 1 / (end - start)
        grad = transposed_along_axis(grad, shape, s.dtype, axis, weights)
        shape[axis] = extent
    return [grad]


@gradient("nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d")
def adaptive_max_pool(s: GradientSite) -> list[Expr]:
    """To the maximum of each window, one axis after the other: shared evenly where several are the largest."""
    if 0 in s.result_shape:
        return [call("zeros_like", s.args[0])]
    steps: list[tuple[int, list[int], tuple[int, ...], Expr, Expr]] = []
    values, shape = s.args[0], list(s.shape())
    for axis in spatial_axes(s.attrs.layout, s.attrs.letters, len(shape)):
        windows, size = _even_windows(shape[axis], s.result_shape[axis])
        whole = windows == list(range(shape[axis]))
        seen = values if whole else call("take", values, array_constant(np.array(windows), "int32"), axis=axis)
        cut = reshape_to(seen, (*shape[:axis], s.result_shape[axis], size, *shape[axis + 1 :]))
        largest = call("max", cut, axis=(axis + 1,), keepdims=True)
        steps.append((axis, windows, tuple(shape), cut, largest))
        shape[axis] = s.result_shape[axis]
        values = reshape_to(largest, shape)
    grad = s.grad
    for axis, windows, before, cut, top in reversed(steps):
        shared = _shared(cut, top, call("expand_dims", grad, axis=axis + 1), (axis + 1,))
        spread = (*before[:axis], len(windows), *before[axis + 1 :])
        grad = copied_along_axis(reshape_to(shared, spread), spread, s.dtype, axis, windows, before[axis])
    return [grad]


def _even_windows(extent: int, count: int) -> tuple[list[int], int]:
    """The positions in each of `count` windows one after the other, and their number: shorter windows have their last one again."""
    bounds = adaptive_bounds(extent, count)
    size = max(end - start for start, end in bounds)
    return [min(start + k, end - 1) for start, end in bounds for k in range(size)], size
