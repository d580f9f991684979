"""Convolutions as tensor expressions, on tensors in any stored layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ... import te
from ...tir.dtypes import accumulator_dtype
from ..layout import Layout, convert_shape, source_indices
from .window_expression import pad_axes, tap, window_axes, window_sum

Pads = Sequence[tuple[int, int]]


class Stored:
    """A tensor read by the indices of another layout than it is stored in."""

    def __init__(self, tensor: Any, stored: Layout, read_as: str) -> None:
        self.tensor = tensor
        self.stored = stored
        self.read_as = Layout.parse(read_as)
        self.shape: tuple[int, ...] = tuple(convert_shape(tensor.shape, stored, self.read_as))  # type: ignore[arg-type]  # a static shape: its dimensions are numbers

    def __getitem__(self, indices: Sequence[Any]) -> Any:
        return self.tensor[tuple(source_indices(indices, self.stored, self.read_as))]

    @property
    def dtype(self) -> str:
        return self.tensor.dtype


def padded_data(data: Any, stored: Layout, form: str, pads: Pads) -> Stored:
    """Data with its spatial axes padded by zeros, to be read by canonical indices."""
    if any(letter.lower() in stored for letter in form[2:]):
        whole = Stored(data, stored, form)
        data = te.compute(whole.shape, lambda *i: whole[i], name="transform", tag="injective")
        stored = Layout.parse(form)
    axes = [stored.index(letter) for letter in form[2:]]
    return Stored(pad_axes(data, axes, pads), stored, form)


def channel_axes(data: Layout, depth: int) -> tuple[list[Any], Any]:
    """Reduction axes over the input channels of a group, and the channel they stand for.

    Where channels are stored in blocks there are two axes, so that neither index needs a division.
    """
    if depth == 1:
        return [], 0
    block = data.factor("C")
    if block > 1 and depth % block == 0 and depth > block:
        outer, inner = te.reduce_axis(depth // block, name="rco"), te.reduce_axis(block, name="rci")
        return [outer, inner], outer * block + inner
    axis = te.reduce_axis(depth, name="rc")
    return [axis], axis


def result(
    out_type: Any, out_layout: Layout, form: str, element: Callable[..., Any], name: str, attrs: dict[str, Any]
) -> Any:
    """A tensor of `out_type` in `out_layout`, its elements given by canonical indices; summed wide, then rounded."""
    wide = accumulator_dtype(out_type.dtype)

    def value_at(*i: Any) -> Any:
        return element(*source_indices(i, form, out_layout))

    total = te.compute(out_type.shape, value_at, name=name, tag=name, attrs=attrs)
    if wide == out_type.dtype:
        return total
    return te.compute(out_type.shape, lambda *i: te.cast(total[i], out_type.dtype), name="narrow", tag="elemwise")


def convolution(
    data: Any,
    weight: Any,
    out_type: Any,
    *,
    form: str,
    kernel_form: str,
    data_layout: Layout,
    kernel_layout: Layout,
    out_layout: Layout,
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The convolution of data in `data_layout` with weights in `kernel_layout`: of the shape of `out_type`, in `out_layout`.

    `form` is `NCHW` or of another rank, `kernel_form` `OIHW` or `GOIHW` alike. Sums go over channels, then the kernel.
    """
    x = padded_data(data, data_layout, form, pads)
    w = Stored(weight, kernel_layout, kernel_form)
    grouped = kernel_form.startswith("G")
    lead = w.shape[: -len(form) + 2]
    kernel = w.shape[len(lead) :]
    channels = x.shape[1]
    depthwise = not grouped and groups > 1 and groups == channels == lead[0]
    outputs = prod(lead[:2]) if grouped or depthwise else lead[0]
    depth = 1 if depthwise else lead[-1]
    each = outputs // groups
    rc, c = channel_axes(data_layout, depth)
    over = window_axes(kernel)
    wide = accumulator_dtype(out_type.dtype)

    def element(n: Any, o: Any, *position: Any) -> Any:
        group = te.floordiv(o, each) if groups > 1 and each > 1 else (o if groups > 1 else 0)
        channel = group * depth + c if groups > 1 else c
        taps = [0 if r is None else r for r in over]
        if grouped:
            index = (group, te.floormod(o, each), c, *taps)
        elif depthwise:
            index = (group, te.floormod(o, each) if each > 1 else 0, *taps)
        else:
            index = (o, c, *taps)
        where = [tap(p, s, r, d) for p, s, r, d in zip(position, strides, over, dilation, strict=True)]
        product = te.cast(x[(n, channel, *where)], wide) * te.cast(w[index], wide)
        return window_sum(product, [*rc, *over])

    name = f"{'depthwise_' if depthwise else 'grouped_' if groups > 1 else ''}conv{len(kernel)}d"
    attrs = {"strides": tuple(strides), "dilation": tuple(dilation), "groups": groups}
    return result(out_type, out_layout, form, element, name, attrs)


def weight_gradient(
    gradient: Stored,
    data: Stored,
    out_type: Any,
    out_layout: Layout,
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The gradient of a two-dimensional convolution by its weights."""
    kernel: Any = convert_shape(out_type.shape, out_layout, "OIHW")[2:]
    reach = [
        (o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(gradient.shape[2:], strides, kernel, dilation, strict=True)
    ]
    short = [(a, max(b, r - n - a)) for (a, b), r, n in zip(pads, reach, data.shape[2:], strict=True)]
    x = padded_data(data.tensor, data.stored, "NCHW", short)
    over = [te.reduce_axis(n, name=f"r{i}") for i, n in enumerate((gradient.shape[0], *gradient.shape[2:]))]
    outputs, depth = gradient.shape[1] // groups, data.shape[1] // groups
    wide = accumulator_dtype(out_type.dtype)

    def element(o: Any, c: Any, *k: Any) -> Any:
        channel = te.floordiv(o, outputs) * depth + c if groups > 1 else c
        where = [r * s + t * d for r, s, t, d in zip(over[1:], strides, k, dilation, strict=True)]
        left = gradient[(over[0], o, *over[1:])]
        return te.sum(te.cast(left, wide) * te.cast(x[(over[0], channel, *where)], wide), axis=over)

    return result(out_type, out_layout, "OIHW", element, "conv2d_backward_weight", {})
