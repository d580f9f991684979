"""Transposed convolutions as tensor expressions: plain ones of stride 1, whose results interleave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import gcd
from typing import Any

from ... import te
from ..layout import Layout, convert_shape, source_indices
from .conv_expression import Pads, Stored, padded_data, result
from .window_expression import present, tap, wide_dtype, window_axes


@dataclass(frozen=True)
class _Phases:
    """Neighbouring phases of one axis that meet as many taps: `count` of them, from `first` on.

    Of the first one, `tap` is the first tap, which meets the data `offset` after the place of the output.
    """

    first: int
    count: int
    taps: int
    tap: int
    offset: int


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
    """The transposed convolution of data in `data_layout` with weights in `kernel_layout`.

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
    before = [a for a, _ in pads]
    kinds = [_phases(k, s, d, a) for k, s, d, a in zip(kernel, strides, dilation, before, strict=True)]
    steps = [(s // gcd(s, d), d // gcd(s, d)) for s, d in zip(strides, dilation, strict=True)]
    places = [-(-o // s) for o, s in zip(out[2:], strides, strict=True)]
    around = [
        (
            max((p.taps - 1) * step - p.offset for p in phases),
            max(_last_offset(p, s, a) for p in phases) + q - n,
        )
        for phases, (_, step), q, n, s, a in zip(kinds, steps, places, x.shape[2:], strides, before, strict=True)
    ]
    seen = padded_data(data, data_layout, form, around)
    wide = wide_dtype(out_type.dtype)
    name = f"conv{rank}d_transpose"
    attrs = {"strides": tuple(strides), "dilation": tuple(dilation), "groups": groups}

    def element_of(phases: Sequence[_Phases]) -> Callable[..., Any]:
        rc = [te.reduce_axis(depth, name="rc")] if depth != 1 else []
        over = window_axes([p.taps for p in phases])

        def element(*i: Any) -> Any:
            r, (n, o), q = i[:rank], i[rank : rank + 2], i[rank + 2 :]
            c = rc[0] if rc else 0
            group = te.floordiv(o, each) if groups > 1 else 0
            channel = group * depth + c if groups > 1 else c
            output = te.floormod(o, each) if groups > 1 else o
            at, where = [], []
            for b, p, j, s, a, (by, step), (low, _), place in zip(
                r, phases, over, strides, before, steps, around, q, strict=True
            ):
                back = p.taps - 1 if j is None else p.taps - 1 - j
                first: Any = p.tap
                offset: Any = p.offset
                if p.count > 1:
                    moved = b + (p.first + a)
                    first, offset = te.floormod(moved, s), te.floordiv(moved, s)
                at.append(back * by + first)
                where.append(tap(place + (offset + (low - (p.taps - 1) * step)), 1, j, step))
            held = w[(group, c, output, *at)] if grouped else w[(channel, output, *at)]
            value = te.cast(seen[(n, channel, *where)], wide) * te.cast(held, wide)
            axes = [*rc, *present(over)]
            return te.sum(value, axis=axes) if axes else value

        return element

    if max(strides) == 1:
        element = element_of([phases for (phases,) in kinds])
        return result(out_type, out_layout, form, lambda *i: element(*[0] * rank, *i), name, attrs)

    def computed(phases: Sequence[_Phases]) -> Any:
        shape = (*[p.count for p in phases], out[0], out[1], *places)
        return te.compute(shape, element_of(phases), name=name, tag=name, attrs=attrs)

    parts = [(phases, computed(phases) if all(p.taps for p in phases) else None) for phases in product(*kinds)]

    def interleaved(*i: Any) -> Any:
        n, o, *y = source_indices(i, form, out_layout)
        r = [te.floormod(a, s) for a, s in zip(y, strides, strict=True)]
        q = [te.floordiv(a, s) for a, s in zip(y, strides, strict=True)]
        value: Any = None
        for phases, part in reversed(parts):
            at = [a - p.first for a, p in zip(r, phases, strict=True)]
            mine = te.cast(te.const(0, wide) if part is None else part[(*at, n, o, *q)], out_type.dtype)
            bounds = [_within(a, p, s) for a, p, s in zip(r, phases, strides, strict=True)]
            value = mine if value is None else te.if_then_else(te.all(*chain(*bounds)), mine, value)
        return value

    return te.compute(out_type.shape, interleaved, name="interleave", tag="injective")


def _phases(kernel: int, stride: int, dilation: int, pad: int) -> list[_Phases]:
    """The phases of an axis in runs that meet as many taps; those of a dilated kernel one by one if they meet any.

    The work grows with the taps, of which there are as many as weights, and not with the stride.
    """
    met: dict[int, list[int]] = {}
    for k in range(kernel):
        met.setdefault((k * dilation - pad) % stride, []).append(k)
    runs: list[tuple[int, int]] = []
    end = 0
    for r in sorted(met):
        if r > end:
            runs.append((end, r - end))
        first, count = runs[-1] if runs else (0, 0)
        if dilation == 1 and count and len(met.get(first, ())) == len(met[r]):
            runs[-1] = (first, count + 1)
        else:
            runs.append((r, 1))
        end = r + 1
    if end < stride:
        runs.append((end, stride - end))
    found = []
    for first, count in runs:
        taps = met.get(first, [])
        tap = taps[0] if taps else 0
        found.append(_Phases(first, count, len(taps), tap, (first + pad - tap * dilation) // stride))
    return found


def _last_offset(phases: _Phases, stride: int, pad: int) -> int:
    """The `offset` of the last one of the phases."""
    return phases.offset if phases.count == 1 else (phases.first + phases.count - 1 + pad) // stride


def _within(r: Any, phases: _Phases, stride: int) -> list[Any]:
    """The conditions for phase `r` to be one of them."""
    end = phases.first + phases.count
    return [r >= phases.first] * (phases.first > 0) + [r < end] * (end < stride)
