"""Convolutions as tensor expressions, on tensors in whatever layout they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ... import te
from ..layout import Layout, convert_shape, source_indices
from .window_expression import pad_axes, present, tap, wide_dtype, window_axes

Pads = Sequence[tuple[int, int]]


class Stored:
    """A tensor read by the indices of another layout than it is stored in."""

    def __init__(self, tensor: Any, stored: Layout, read_as: str) -> None:
        self.tensor = tensor
        self.stored = stored
        self.read_as = Layout.parse(read_as)
        self.shape = tuple(int(d) for d in convert_shape(tensor.shape, stored, self.read_as))  # type: ignore[arg-type]

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
    wide = wide_dtype(out_type.dtype)

    def at(*i: Any) -> Any:
        return element(*source_indices(i, form, out_layout))

    total = te.compute(out_type.shape, at, name=name, tag=name, attrs=attrs)
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
    """The convolution of data in `data_layout` with weights in `kernel_layout`.

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
    wide = wide_dtype(out_type.dtype)

    def element(n: Any, o: Any, *position: Any) -> Any:
        group = te.floordiv(o, each) if groups > 1 and each > 1 else (o if groups > 1 else 0)
        channel = group * depth + c if groups > 1 else c
        held = [0 if r is None else r for r in over]
        if grouped:
            index = (group, te.floormod(o, each), c, *held)
        elif depthwise:
            index = (group, te.floormod(o, each) if each > 1 else 0, *held)
        else:
            index = (o, c, *held)
        where = [tap(p, s, r, d) for p, s, r, d in zip(position, strides, over, dilation, strict=True)]
        product = te.cast(x[(n, channel, *where)], wide) * te.cast(w[index], wide)
        axes = [*rc, *present(over)]
        return te.sum(product, axis=axes) if axes else product

    name = f"{'depthwise_' if depthwise else 'grouped_' if groups > 1 else ''}conv{len(kernel)}d"
    attrs = {"strides": tuple(strides), "dilation": tuple(dilation), "groups": groups}
    return result(out_type, out_layout, form, element, name, attrs)


def transposed_convolution(
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
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """A transposed convolution, as a plain one of stride 1 with the kernel turned around, on data spread out with zeros.

    Where the stride is more than 1 and the kernel is not dilated, it is done phase by phase instead (`_by_phases`).
    """
    x = Stored(data, data_layout, form)
    w = Stored(weight, kernel_layout, kernel_form)
    grouped = kernel_form.startswith("G")
    kernel = w.shape[3 if grouped else 2 :]
    if max(strides) > 1 and max(dilation) == 1 and not grouped:
        return _by_phases(x, w, out_type, out_layout, form, strides, pads, groups)
    channels, each = x.shape[1], w.shape[2 if grouped else 1]
    depth = channels // groups
    before = [d * (k - 1) - p[0] for k, d, p in zip(kernel, dilation, pads, strict=True)]
    after = [d * (k - 1) - p[1] + q for k, d, p, q in zip(kernel, dilation, pads, output_padding, strict=True)]
    spread = _spread(x, strides, before, after)
    rc = [te.reduce_axis(depth, name="rc")] if depth > 1 else []
    over = window_axes(kernel)
    wide = wide_dtype(out_type.dtype)

    def element(n: Any, o: Any, *position: Any) -> Any:
        c = rc[0] if rc else 0
        group = te.floordiv(o, each) if groups > 1 else 0
        channel = group * depth + c if groups > 1 else c
        output = te.floormod(o, each) if groups > 1 else o
        held = [0 if r is None else k - 1 - r for k, r in zip(kernel, over, strict=True)]
        index = (group, c, output, *held) if grouped else (channel, output, *held)
        where = [tap(p, 1, r, d) for p, r, d in zip(position, over, dilation, strict=True)]
        product = te.cast(spread[(n, channel, *where)], wide) * te.cast(w[index], wide)
        axes = [*rc, *present(over)]
        return te.sum(product, axis=axes) if axes else product

    name = f"conv{len(kernel)}d_transpose"
    attrs = {"strides": tuple(strides), "dilation": tuple(dilation), "groups": groups}
    return result(out_type, out_layout, form, element, name, attrs)


def _by_phases(
    x: Stored,
    w: Stored,
    out_type: Any,
    out_layout: Layout,
    form: str,
    strides: Sequence[int],
    pads: Pads,
    groups: int,
) -> Any:
    """A transposed convolution as `prod(strides)` plain ones of stride 1, whose results interleave.

    Along an axis of stride `s`, output `y` meets the taps `k` with `k = y + pad (mod s)` only. So outputs of one phase,
    `y = q * s + r`, are a convolution of the data with every `s`-th tap from `(r + pad) mod s` on, and nothing is
    multiplied by a zero that the stride put there.
    """
    kernel = w.shape[2:]
    channels, each = x.shape[1], w.shape[1]
    depth = channels // groups
    out: Any = convert_shape(out_type.shape, out_layout, form)
    taps = [-(-k // s) for k, s in zip(kernel, strides, strict=True)]
    nearest = [a // s for (a, _), s in zip(pads, strides, strict=True)]
    farthest = [(s - 1 + a) // s for (a, _), s in zip(pads, strides, strict=True)]
    places = [-(-o // s) for o, s in zip(out[2:], strides, strict=True)]
    around = [
        (t - 1 - low, q - 1 + high - (n - 1))
        for t, low, high, q, n in zip(taps, nearest, farthest, places, x.shape[2:], strict=True)
    ]
    seen = padded_data(x.tensor, x.stored, form, around)
    whole = [(0, t * s - k) for t, s, k in zip(taps, strides, kernel, strict=True)]
    held = w if not any(b for _, b in whole) else padded_weights(w, whole)
    rc = [te.reduce_axis(depth, name="rc")] if depth > 1 else []
    over = window_axes(taps)
    wide = wide_dtype(out_type.dtype)
    rank = len(kernel)

    def phase(*i: Any) -> Any:
        r, (n, o), q = i[:rank], i[rank : rank + 2], i[rank + 2 :]
        c = rc[0] if rc else 0
        channel = te.floordiv(o, each) * depth + c if groups > 1 else c
        output = te.floormod(o, each) if groups > 1 else o
        moved = [p + a for p, (a, _) in zip(r, pads, strict=True)]
        tap_at = [
            (t - 1 if j is None else t - 1 - j) * s + te.floormod(m, s)
            for t, j, s, m in zip(taps, over, strides, moved, strict=True)
        ]
        where = [
            tap(a + (te.floordiv(m, s) - low), 1, j, 1)
            for a, j, m, s, low in zip(q, over, moved, strides, nearest, strict=True)
        ]
        value = te.cast(seen[(n, channel, *where)], wide) * te.cast(held[(channel, output, *tap_at)], wide)
        axes = [*rc, *present(over)]
        return te.sum(value, axis=axes) if axes else value

    name = f"conv{rank}d_transpose"
    phases = te.compute((*strides, out[0], out[1], *places), phase, name=name, tag=name, attrs={"groups": groups})

    def interleaved(*i: Any) -> Any:
        n, o, *y = source_indices(i, form, out_layout)
        r = [te.floormod(a, s) for a, s in zip(y, strides, strict=True)]
        q = [te.floordiv(a, s) for a, s in zip(y, strides, strict=True)]
        return te.cast(phases[(*r, n, o, *q)], out_type.dtype)

    return te.compute(out_type.shape, interleaved, name="interleave", tag="injective")


def padded_weights(w: Stored, pads: Pads) -> Any:
    """Weights read by canonical indices, their kernel axes padded with zeros."""
    plain = te.compute(w.shape, lambda *i: w[i], name="weights", tag="injective")
    return pad_axes(plain, range(2, len(w.shape)), pads)


def _spread(x: Stored, strides: Sequence[int], before: Sequence[int], after: Sequence[int]) -> Any:
    """`strides[i] - 1` zeros between neighbours, and zeros around (a negative number of them cuts off)."""
    shape = [(n - 1) * s + 1 + a + b for n, s, a, b in zip(x.shape[2:], strides, before, after, strict=True)]

    def element(n: Any, c: Any, *i: Any) -> Any:
        at, inside = [], []
        for k, size, s, a, b in zip(i, x.shape[2:], strides, before, after, strict=True):
            place = k - a if a else k
            if a > 0:
                inside.append(place >= 0)
            if b > 0:
                inside.append(place < (size - 1) * s + 1)
            if s != 1:
                inside.append(te.floormod(place, s).equal(0))
                place = te.floordiv(place, s)
            at.append(place)
        value = x[(n, c, *at)]
        return te.if_then_else(te.all(*inside), value, te.const(0, x.dtype)) if inside else value

    return te.compute((*x.shape[:2], *shape), element, name="spread", tag="injective,pad")


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
    ]  # type: ignore[operator]
    short = [(a, max(b, r - n - a)) for (a, b), r, n in zip(pads, reach, data.shape[2:], strict=True)]
    x = padded_data(data.tensor, data.stored, "NCHW", short)
    over = [te.reduce_axis(n, name=f"r{i}") for i, n in enumerate((gradient.shape[0], *gradient.shape[2:]))]
    outputs, depth = gradient.shape[1] // groups, data.shape[1] // groups
    wide = wide_dtype(out_type.dtype)

    def element(o: Any, c: Any, *k: Any) -> Any:
        channel = te.floordiv(o, outputs) * depth + c if groups > 1 else c
        where = [r * s + t * d for r, s, t, d in zip(over[1:], strides, k, dilation, strict=True)]
        left = gradient[(over[0], o, *over[1:])]
        return te.sum(te.cast(left, wide) * te.cast(x[(over[0], channel, *where)], wide), axis=over)

    return result(out_type, out_layout, "OIHW", element, "conv2d_backward_weight", {})
