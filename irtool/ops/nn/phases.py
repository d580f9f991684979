"""Sums over the windows that meet each element of a strided axis, one phase of the elements at a time.

An element `y` of the result meets tap `k` of a window where `k * dilation = y + pad (mod stride)`. So the elements of one phase,
`y = q * stride + r`, are sums over windows of stride 1, with some of the taps. Neighbouring phases that meet as many taps are computed
together: no step is one that a stride leaves out, nor a tap that does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import gcd
from typing import Any

from ... import te
from .window_expression import tap, window_axes

ElementOfPhase = Callable[[Sequence["Phases"], Sequence[Any]], Callable[..., Any]]
"""For the phases of each axis, and the reduction axes over their taps: the function from indices to elements."""


@dataclass(frozen=True)
class Phases:
    """Neighbouring phases of one axis that meet as many taps: `count` of them, from `first` on.

    Of the first one, `tap` is the first tap, which meets the data `offset` after the place of the output.
    """

    first: int
    count: int
    taps: int
    tap: int
    offset: int


@dataclass(frozen=True)
class PhasedAxis:
    """One spatial axis: the extents of the data, the kernel and the result, and the padding before the data."""

    size: int
    kernel: int
    stride: int
    dilation: int
    pad: int
    out: int

    @cached_property
    def phases(self) -> list[Phases]:
        """Its phases, in runs that are computed together."""
        return _runs_of_phases(self.kernel, self.stride, self.dilation, self.pad)

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

    def meet(self, phases: Phases, phase: Any, tap_axis: Any, place: Any) -> tuple[Any, Any]:
        """The tap and the data, padded, that meet in a step of `tap_axis` (None for one tap) at an output of a phase."""
        back = phases.taps - 1 if tap_axis is None else phases.taps - 1 - tap_axis
        first: Any = phases.tap
        offset: Any = phases.offset
        if phases.count > 1:
            moved = phase + (phases.first + self.pad)
            first, offset = te.floormod(moved, self.stride), te.floordiv(moved, self.stride)
        begin = offset + (self.around[0] - (phases.taps - 1) * self.step)
        return back * self.tap_step + first, tap(place + begin, 1, tap_axis, self.step)


def sum_phases(
    axes: Sequence[PhasedAxis],
    shape: Sequence[Any],
    element_of: ElementOfPhase,
    name: str,
    attrs: Mapping[str, Any] | None = None,
) -> list[tuple[Sequence[Phases], Any]]:
    """A tensor for each combination of phases of the axes: the extents of these, then `shape`. None for phases without taps."""

    def computed(phases: Sequence[Phases]) -> Any:
        element = element_of(phases, window_axes([p.taps for p in phases]))
        return te.compute((*[p.count for p in phases], *shape), element, name=name, tag=name, attrs=attrs)

    every = product(*[axis.phases for axis in axes])
    return [(phases, computed(phases) if all(p.taps for p in phases) else None) for phases in every]


def interleaved(
    parts: Sequence[tuple[Sequence[Phases], Any]], strides: Sequence[int], y: Sequence[Any], element: Callable[..., Any]
) -> Any:
    """The element at the places `y` of the axes: `element(part, r, q)` of the tensor of its phases (None: they have no taps)."""
    r = [te.floormod(a, s) for a, s in zip(y, strides, strict=True)]
    q = [te.floordiv(a, s) for a, s in zip(y, strides, strict=True)]
    value: Any = None
    for phases, part in reversed(parts):
        mine = element(part, [a - p.first for a, p in zip(r, phases, strict=True)], q)
        bounds = [_within(a, p, s) for a, p, s in zip(r, phases, strides, strict=True)]
        value = mine if value is None else te.if_then_else(te.all(*chain(*bounds)), mine, value)
    return value


def _runs_of_phases(kernel: int, stride: int, dilation: int, pad: int) -> list[Phases]:
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
        result.append(Phases(first, count, len(taps), tap, (first + pad - tap * dilation) // stride))
    return result


def _last_offset(phases: Phases, stride: int, pad: int) -> int:
    """The `offset` of the last one of the phases."""
    return phases.offset if phases.count == 1 else (phases.first + phases.count - 1 + pad) // stride


def _within(r: Any, phases: Phases, stride: int) -> list[Any]:
    """The conditions for phase `r` to be one of them."""
    end = phases.first + phases.count
    return [r >= phases.first] * (phases.first > 0) + [r < end] * (end < stride)
