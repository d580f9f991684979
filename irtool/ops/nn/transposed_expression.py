"""Transposed convolutions as tensor expressions: plain ones of stride 1, whose results interleave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import te
from ...tir.dtypes import accumulator_dtype
from ..layout import Layout, convert_shape, source_indices
from .conv_expression import Pads, Stored, padded_data, result
from .phases import PhasedAxis, Phases, interleaved, sum_phases
from .window_expression import window_axes, window_sum


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
    dilation: Sequence[int],
    groups: int,
) -> Any:
    """The transposed convolution of data in `data_layout` with weights in `kernel_layout`, of the shape of `out_type`.

    Along an axis of stride `s`, output `y` meets the taps `k` with `k * dilation = y + pad (mod s)` only. So outputs of one
    phase, `y = q * s + r`, are a convolution of the data with some of the taps. Neighbouring phases that meet as many taps are
    computed together: nothing is multiplied by a zero that a stride puts between data, nor by a tap that does not exist.
    """
    x = Stored(data, data_layout, form)
    w = Stored(weight, kernel_layout, kernel_form)
    grouped = kernel_form.startswith("G")
    kernel = w.shape[3 if grouped else 2 :]
    each = w.shape[2 if grouped else 1]
    depth = x.shape[1] // groups
    rank = len(kernel)
    out: Any = convert_shape(out_type.shape, out_layout, form)
    axes = [
        PhasedAxis(n, k, s, d, a, o)
        for n, k, s, d, (a, _), o in zip(x.shape[2:], kernel, strides, dilation, pads, out[2:], strict=True)
    ]
    seen = padded_data(data, data_layout, form, [axis.around for axis in axes])
    wide = accumulator_dtype(out_type.dtype)
    name = f"conv{rank}d_transpose"
    attrs = {"strides": tuple(strides), "dilation": tuple(dilation), "groups": groups}

    def element_of(phases: Sequence[Phases], over: Sequence[Any]) -> Callable[..., Any]:
        rc = [te.reduce_axis(depth, name="rc")] if depth != 1 else []

        def element(*i: Any) -> Any:
            r, (n, o), q = i[:rank], i[rank : rank + 2], i[rank + 2 :]
            c = rc[0] if rc else 0
            group = te.floordiv(o, each) if groups > 1 else 0
            channel = group * depth + c if groups > 1 else c
            output = te.floormod(o, each) if groups > 1 else o
            met = [axis.meet(*x) for axis, *x in zip(axes, phases, r, over, q, strict=True)]
            indices, where = [t for t, _ in met], [d for _, d in met]
            factor = w[(group, c, output, *indices)] if grouped else w[(channel, output, *indices)]
            value = te.cast(seen[(n, channel, *where)], wide) * te.cast(factor, wide)
            return window_sum(value, [*rc, *over])

        return element

    if max(strides) == 1:
        phases = [run for (run,) in (axis.phases for axis in axes)]
        element = element_of(phases, window_axes([p.taps for p in phases]))
        return result(out_type, out_layout, form, lambda *i: element(*[0] * rank, *i), name, attrs)
    places = (out[0], out[1], *[axis.places for axis in axes])
    parts = sum_phases(axes, places, element_of, name, attrs)

    def element_at(*i: Any) -> Any:
        n, o, *y = source_indices(i, form, out_layout)

        def of_part(part: Any, r: Sequence[Any], q: Sequence[Any]) -> Any:
            return te.cast(te.const(0, wide) if part is None else part[(*r, n, o, *q)], out_type.dtype)

        return interleaved(parts, strides, y, of_part)

    return te.compute(out_type.shape, element_at, name="interleave", tag="injective")
