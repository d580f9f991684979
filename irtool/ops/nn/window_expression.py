"""Sliding windows as tensor expressions: padding, pooling, and the axes to reduce over."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from ... import te
from ...ir.dims import is_number
from ...tir.dtypes import accumulator_dtype, is_float
from .geometry import single_window

Pads = Sequence[tuple[int, int]]


def pad_axes(x: Any, axes: Sequence[int], pads: Pads, value: Any = 0) -> Any:
    """`x` with some of its axes padded by a value; `x` itself if there is nothing to pad."""
    if not any(before or after for before, after in pads):
        return x
    shape = list(x.shape)
    for axis, (before, after) in zip(axes, pads, strict=True):
        shape[axis] += before + after

    def element(*i: Any) -> Any:
        indices, inside = list(i), []
        for axis, (before, after) in zip(axes, pads, strict=True):
            if before:
                indices[axis] = i[axis] - before
                inside.append(i[axis] >= before)
            if after:
                inside.append(i[axis] < x.shape[axis] + before)
        return te.if_then_else(te.all(*inside), x[tuple(indices)], te.const(value, x.dtype))

    return te.compute(tuple(shape), element, name="pad", tag="injective,pad")


def window_axes(kernel: Sequence[int]) -> list[Any]:
    """A reduction axis for each extent of a kernel; those of extent 1 are left out (None)."""
    return [te.reduce_axis(k, name=f"k{i}", window=True) if k != 1 else None for i, k in enumerate(kernel)]


def tap(position: Any, stride: int, axis: Any, dilation: int) -> Any:
    """The place of a window's tap along one axis."""
    index = position * stride if stride != 1 else position
    if axis is None:
        return index
    return index + (axis * dilation if dilation != 1 else axis)


def present(axes: Sequence[Any]) -> list[Any]:
    """The axes without the Nones."""
    return [a for a in axes if a is not None]


def window_sum(value: Any, over: Sequence[Any], where: Any = None) -> Any:
    """The sum over the axes of a window that has any. One begins with 0: the sum of one element, -0, is 0 as that of several is."""
    if present(over):
        return te.sum(value, axis=present(over), where=where)
    return value + te.const(0, value.dtype) if is_float(value.dtype) else value


def window_largest(value: Any, over: Sequence[Any], where: Any = None) -> Any:
    """The largest element over the axes of a window that has any."""
    return te.max(value, axis=present(over), where=where) if present(over) else value


def pooled(
    x: Any,
    axes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    out_shape: Sequence[int],
    lowest: Any = None,
) -> Any:
    """Each window's largest element, or with `lowest` None its sum (16-bit floats in float32), over `axes` of `x`."""
    reach = [single_window(x.shape[a], k, p, d, out_shape[a]) for a, k, p, d in zip(axes, kernel, pads, dilation)]
    kernel = [k if n is None else n for k, n in zip(kernel, reach)]
    pads = [p if n is None else (0, 0) for p, n in zip(pads, reach)]
    padded = pad_axes(x, axes, pads, 0 if lowest is None else lowest)
    over = window_axes(kernel)
    wide = accumulator_dtype(x.dtype) if lowest is None else x.dtype

    def element(*i: Any) -> Any:
        indices = list(i)
        for axis, r, s, d in zip(axes, over, strides, dilation, strict=True):
            indices[axis] = tap(i[axis], s, r, d)
        value = te.cast(padded[tuple(indices)], wide)
        return window_sum(value, over) if lowest is None else window_largest(value, over)

    return te.compute(tuple(out_shape), element, name="pool", tag="pool_sum" if lowest is None else "pool_max")


def least(dtype: str) -> float | int:
    """The least number of a dtype."""
    if dtype.startswith("int"):
        return -(1 << (int(dtype[3:]) - 1))
    return 0 if dtype.startswith(("uint", "bool")) else float("-inf")


def window_count(
    i: Any, size: int, kernel: int, stride: int, pad: tuple[int, int], dilation: int, with_padding: bool
) -> Any:
    """The number of elements of the window at position `i` along an axis (see `pool_reference.window_counts`)."""
    start = i * stride - pad[0]
    end = size + pad[1] if with_padding else size
    last = te.minimum(te.floordiv(end - start + (dilation - 1), dilation), kernel)
    if with_padding or not pad[0]:
        return last
    return last - te.floordiv(te.maximum(0 - start, 0) + (dilation - 1), dilation)


def quotient(total: Any, count: Any, dtype: str) -> Any:
    """`total / count` as `dtype`; integers are cut off towards zero."""
    if dtype.startswith(("int", "uint")):
        wide = "int32" if dtype in ("int8", "uint8", "int16", "uint16", "int32") else "int64"
        return te.cast(te.truncdiv(te.cast(total, wide), te.cast(count, wide)), dtype)
    return te.cast(total / te.cast(count, total.dtype), dtype)


def adaptive(x: Any, axes: Sequence[int], sizes: Sequence[int], average: bool) -> Any:
    """The largest element or the mean of each of `sizes` windows that together cover the axes.

    The result has the shape of `x` with `sizes` in the place of its extents along `axes`.
    """
    bounds = [Bounds(x.shape[axis], out) for axis, out in zip(axes, sizes, strict=True)]
    every = range(len(axes))
    # Windows of different sizes are combined along one axis after the other: what they share of a row is combined once.
    apart = [range(n, n + 1) for n in every if bounds[n].widest != 1 or bounds[n].out != x.shape[axes[n]]]
    groups = [every] if all(b.even for b in bounds) else apart
    total = x
    for group in groups:
        total = _combined(total, [axes[n] for n in group], [bounds[n] for n in group], average)
    if not average:
        return total

    def mean(*i: Any) -> Any:
        count: Any = 1
        for axis, b in zip(axes, bounds, strict=True):
            count = count * (b.widest if b.even else b.end(i[axis]) - b.start(i[axis]))
        return quotient(total[i], count, x.dtype)

    return te.compute(total.shape, mean, name="adaptive_mean", tag="elemwise")


def _combined(x: Any, axes: Sequence[int], bounds: Sequence[Bounds], average: bool) -> Any:
    """The largest element or the sum of each window along some axes."""
    shape = list(x.shape)
    for axis, b in zip(axes, bounds, strict=True):
        shape[axis] = b.out
    over = window_axes([b.widest for b in bounds])
    wide = accumulator_dtype(x.dtype) if average else x.dtype

    def reduced(*i: Any) -> Any:
        indices, inside = list(i), []
        for axis, r, b in zip(axes, over, bounds, strict=True):
            indices[axis] = b.start(i[axis]) if r is None else b.start(i[axis]) + r
            if r is not None and not b.even:
                inside.append(indices[axis] < b.end(i[axis]))
        where = te.all(*inside) if inside else None
        value = te.cast(x[tuple(indices)] if where is None else x[tuple(_within(indices, axes, x.shape))], wide)
        return window_sum(value, over, where) if average else window_largest(value, over, where)

    return te.compute(tuple(shape), reduced, name="adaptive_pool", tag="adaptive_pool")


def _within(indices: Sequence[Any], axes: Sequence[int], shape: Sequence[int]) -> list[Any]:
    """Indices held within bounds, for elements that a condition leaves out."""
    return [te.minimum(a, shape[i] - 1) if i in axes else a for i, a in enumerate(indices)]


class Bounds:
    """The windows of adaptive pooling along an axis of `size` elements: `out` of them."""

    def __init__(self, size: int, out: int) -> None:
        self.size = size
        self.out = out
        self.even = not out or size % out == 0
        common = gcd(size, out) if is_number(size) and is_number(out) else out if self.even else 1
        self.widest = -(-(out - common + size) // out) if out else 1

    def start(self, i: Any) -> Any:
        """First element of window `i`."""
        return i * self.widest if self.even else te.floordiv(i * self.size, self.out)

    def end(self, i: Any) -> Any:
        """One behind the last element of window `i`."""
        return te.floordiv((i + 1) * self.size + (self.out - 1), self.out)
