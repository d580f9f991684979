"""Transposed convolutions as tensor expressions: plain ones of stride 1, whose results interleave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import gcd
from typing import Any

from ... import te
from ...tir.dtypes import accumulator_dtype
from ..layout import Layout, convert_shape, source_indices
from .conv_expression import Pads, Stored, padded_data, result
from .window_expression import tap, window_axes, window_sum


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


@dataclass(frozen=True)
class _Axis:
    """One spatial axis: the extents of the data, the kernel and the result, and the padding before the data."""

    size: int
    kernel: int
    stride: int
    dilation: int
    pad: int
    out: int

    @cached_property
    def phases(self) -> list[_Phases]:
        """Its phases, in runs that are computed together."""
        return _phases(self.kernel, self.stride, self.dilation, self.pad)

    @property
    def tap_step(self) -> int:
        """The distance of two taps that one phase meets one after the other."""
        return self.stride // gcd(self.stride, self.dilation)

    @property
    def step(self) -> int:
        """The distance of the data that these taps meet."""
        return self.dilation // gcd(self.stride, self.dilation)

    @property
    def places(self) -> int:
        """Outputs of each phase."""
        return -(-self.out // self.stride)

    @cached_property
    def around(self) -> tuple[int, int]:
        """The padding that all phases need, before and after the data."""
        before = max((p.taps - 1) * self.step - p.offset for p in self.phases)
        last = max(_last_offset(p, self.stride, self.pad) for p in self.phases)
        return before, last + self.places - self.size

    def meet(self, phases: _Phases, phase: Any, tap_axis: Any, place: Any) -> tuple[Any, Any]:
        """The tap and the data, padded, that meet in a step of `tap_axis` (None for one tap) at an output of a phase."""
        back = phases.taps - 1 if tap_axis is None else phases.taps - 1 - tap_axis
        first: Any = phases.tap
        offset: Any = phases.offset
        if phases.count > 1:
            moved = phase + (phases.first + self.pad)
            first, offset = te.floormod(moved, self.stride), te.floordiv(moved, self.stride)
        begin = offset + (self.around[0] - (phases.taps - 1) * self.step)
        return back * self.tap_step + first, tap(place + begin, 1, tap_axis, self.step)


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
        _Axis(n, k, s, d, a, o)
        for n, k, s, d, (a, _), o in zip(x.shape[2:], kernel, strides, dilation, pads, out[2:], strict=True)
    ]
    seen = padded_data(data, data_layout, form, [axis.around for axis in axes])
    wide = accumulator_dtype(out_type.dtype)
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
            met = [axis.meet(*x) for axis, *x in zip(axes, phases, r, over, q, strict=True)]
            indices, where = [t for t, _ in met], [d for _, d in met]
            factor = w[(group, c, output, *indices)] if grouped else w[(channel, output, *indices)]
            value = te.cast(seen[(n, channel, *where)], wide) * te.cast(factor, wide)
            return window_sum(value, [*rc, *over])

        return element

    if max(strides) == 1:
        element = element_of([phases for (phases,) in (axis.phases for axis in axes)])
        return result(out_type, out_layout, form, lambda *i: element(*[0] * rank, *i), name, attrs)

    def computed(phases: Sequence[_Phases]) -> Any:
        shape = (*[p.count for p in phases], out[0], out[1], *[axis.places for axis in axes])
        return te.compute(shape, element_of(phases), name=name, tag=name, attrs=attrs)

    every = product(*[axis.phases for axis in axes])
    parts = [(phases, computed(phases) if all(p.taps for p in phases) else None) for phases in every]
    return _interleaved(parts, strides, out_type, form, out_layout, wide)


def _interleaved(
    parts: Sequence[tuple[Sequence[_Phases], Any]],
    strides: Sequence[int],
    out_type: Any,
    form: str,
    out_layout: Layout,
    wide: str,
) -> Any:
    """The results of phases in their places; None stands for phases without taps, which are 0."""

    def element(*i: Any) -> Any:
        n, o, *y = source_indices(i, form, out_layout)
        r = [te.floormod(a, s) for a, s in zip(y, strides, strict=True)]
        q = [te.floordiv(a, s) for a, s in zip(y, strides, strict=True)]
        value: Any = None
        for phases, part in reversed(parts):
            indices = [a - p.first for a, p in zip(r, phases, strict=True)]
            mine = te.cast(te.const(0, wide) if part is None else part[(*indices, n, o, *q)], out_type.dtype)
            bounds = [_within(a, p, s) for a, p, s in zip(r, phases, strides, strict=True)]
            value = mine if value is None else te.if_then_else(te.all(*chain(*bounds)), mine, value)
        return value

    return te.compute(out_type.shape, element, name="interleave", tag="injective")


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
    result = []
    for first, count in runs:
        taps = met.get(first, [])
        tap = taps[0] if taps else 0
        result.append(_Phases(first, count, len(taps), tap, (first + pad - tap * dilation) // stride))
    return result


def _last_offset(phases: _Phases, stride: int, pad: int) -> int:
    """The `offset` of the last one of the phases."""
    return phases.offset if phases.count == 1 else (phases.first + phases.count - 1 + pad) // stride


def _within(r: Any, phases: _Phases, stride: int) -> list[Any]:
    """The conditions for phase `r` to be one of them."""
    end = phases.first + phases.count
    return [r >= phases.first] * (phases.first > 0) + [r < end] * (end < stride)
