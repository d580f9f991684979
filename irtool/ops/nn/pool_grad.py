"""Gradients of two-dimensional pooling by its data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..dtypes import is_float
from ..partial import is_settled, meet, meet_dims, window_input
from ..relations import require_dtype
from ..shape.partly_known import same_axes
from ..shapes import add, require_compatible, require_numbers, require_rank, tensor
from .convolve import pad_spatial, tap_view
from .geometry import dilated, pad_amounts, per_axis, positions, reached
from .phases import PhasedAxis, Phases, interleaved, sum_phases
from .pool import spatial_axes
from .pool_reference import lowest, window_counts
from .precision import narrow, widen
from .window_expression import least, pad_axes, window_axes, window_count, window_sum
from .window_expression import tap as place_of_tap


class PoolGrad(Operator):
    """The result has the type of the data, the second argument; the first is the gradient by the pooled result.

    An empty `dilation`, which TVM's gradients write, is that of windows without gaps.
    """

    pool_size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    layout: str
    out_layout: str
    ceil_mode: bool

    one_dtype = ("data", "grad", "result")

    @property
    def gaps(self) -> tuple[int, ...]:
        """Distance of the elements of a window along each spatial axis."""
        return self.dilation or (1, 1)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data that was pooled; the gradient has its dtype, batch and channels, and one extent for each window:
        its type follows where `ceil_mode` would make no difference to their number."""
        grad, data = tensor(types[0], "the gradient"), tensor(types[1], "the data")
        per_axis(self.pool_size, 2, "pool_size")
        per_axis(self.strides, 2, "strides")
        per_axis(self.gaps, 2, "dilation")
        pad_amounts(self.padding, 2)
        if data is None:
            return None
        require_numbers(data, "the data")
        axes = spatial_axes(self.layout, "HW", len(data.shape))
        if grad is not None:
            require_dtype(grad, data)
            require_rank(grad, len(data.shape), "the gradient")
            for i, (a, b) in enumerate(zip(grad.shape, data.shape, strict=True)):
                if i not in axes:
                    require_compatible(a, b, f"axis {i} of gradient and data")
            self.require_windows([grad.shape[a] for a in axes], [data.shape[a] for a in axes])
        else:
            (windows, _), _ = self.deduce_shapes([None, data.shape], data.shape)
            if is_settled(windows):
                reporter.assign(0, TensorType(windows, data.dtype))
        return data

    def require_windows(self, gradient_extents: Sequence[Dim], sizes: Sequence[Dim]) -> None:
        """RelationError where the gradient has another number of windows than the data, by `ceil_mode` or without it."""
        for axis, (n, size, pad) in enumerate(zip(gradient_extents, sizes, pad_amounts(self.padding, 2), strict=True)):
            known = self._counts(size, self._reach(axis), self.strides[axis], pad)
            if isinstance(n, int) and known and all(isinstance(d, int) for d in known) and n not in known:
                raise RelationError(f"the gradient has {n} windows along spatial axis {axis}, the data has {known[0]}")

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        gradient, data = args[0], meet(args[1], out)
        known = data if data is not None else gradient
        if known is None:
            return list(args), out
        axes = spatial_axes(self.layout, "HW", len(known))
        (data,), gradient = same_axes(data, gradient, [i for i in range(len(known)) if i not in axes])
        size, windows = list(data or ()), list(gradient or ())
        for i, (axis, s, pad) in enumerate(zip(axes, self.strides, pad_amounts(self.padding, 2), strict=True)):
            k = self._reach(i)
            size[axis] = meet_dims(size[axis], window_input(windows[axis], k, s, pad))
            counts = self._counts(size[axis], k, s, pad)
            if counts is not None and counts[0] == counts[1]:
                windows[axis] = meet_dims(windows[axis], counts[0])
        return [tuple(windows), tuple(size)], tuple(size)

    def _reach(self, axis: int) -> Dim:
        """Extent of a window along a spatial axis, dilation included."""
        return dilated(self.pool_size[axis], self.gaps[axis])

    @staticmethod
    def _counts(size: Dim | None, kernel: Dim, stride: int, pad: tuple[Dim, Dim]) -> tuple[Dim, Dim] | None:
        """The windows along an axis, without `ceil_mode` and with it: the gradient may have either number."""
        if size is None:
            return None
        total = add(*pad)
        return positions(size, total, kernel, stride), positions(size, add(total, stride - 1), kernel, stride)

    def evaluate(self, gradient: np.ndarray, data: np.ndarray) -> np.ndarray:
        axes = spatial_axes(self.layout, "HW", data.ndim)
        last = [data.ndim - 2, data.ndim - 1]
        grad, x = np.moveaxis(widen(gradient), axes, last), np.moveaxis(data, axes, last)
        pads: Any = pad_amounts(self.padding, 2)
        reach = reached(x.shape[-2:], grad.shape[-2:], self.pool_size, self.strides, self.gaps, pads)
        total = np.zeros(
            (*x.shape[:-2], *[a + n + b for (a, b), n in zip(reach, x.shape[-2:], strict=True)]), grad.dtype
        )
        self.spread(grad, x, reach, pads, total)
        cut = pad_spatial(total, [(-a, -b) for a, b in reach])
        return np.ascontiguousarray(narrow(np.moveaxis(cut, last, axes), gradient.dtype))

    def spread(self, grad: np.ndarray, x: np.ndarray, reach: Any, pads: Any, total: np.ndarray) -> None:
        """Adds each window's gradient to the padded `total`, to each element those of the first windows first."""
        raise NotImplementedError

    def sum_over_windows(
        self,
        shape: Sequence[Any],
        out_type: Any,
        axes: Sequence[int],
        step: Callable[[Sequence[Any], Sequence[Any], Callable[[Any, int], Any]], Any],
    ) -> Any:
        """For each element of the result the sum, over the windows that it is in, of `step(place, taps, around)`.

        `place` is that of a window in tensors of `shape` with a border; `around(tensor, value)` gives one that border.
        """
        pads: Any = pad_amounts(self.padding, 2)
        phased = [
            PhasedAxis(shape[a], k, s, d, before, out_type.shape[a])
            for a, k, s, d, (before, _) in zip(axes, self.pool_size, self.strides, self.gaps, pads, strict=True)
        ]
        wide = accumulator_dtype(out_type.dtype)
        borders: dict[Any, Any] = {}

        def around(tensor: Any, value: int) -> Any:
            if tensor not in borders:
                borders[tensor] = pad_axes(tensor, axes, [axis.around for axis in phased], value)
            return borders[tensor]

        def element_of(phases: Sequence[Phases], over: Sequence[Any]) -> Callable[..., Any]:
            def element(*i: Any) -> Any:
                r, place = i[: len(axes)], list(i[len(axes) :])
                met = [x.meet(p, a, t, place[n]) for x, p, a, t, n in zip(phased, phases, r, over, axes, strict=True)]
                for n, (_, window) in zip(axes, met, strict=True):
                    place[n] = window
                return window_sum(te.cast(step(place, [t for t, _ in met], around), wide), over)

            return element

        if max(self.strides) == 1:
            runs = [run for (run,) in (axis.phases for axis in phased)]
            element = element_of(runs, window_axes([p.taps for p in runs]))
            origin = [0] * len(axes)
            return te.compute(
                out_type.shape,
                lambda *i: te.cast(element(*origin, *i), out_type.dtype),
                name="pool_grad",
                tag="pool_grad",
            )
        places = [phased[axes.index(n)].places if n in axes else extent for n, extent in enumerate(out_type.shape)]
        parts = sum_phases(phased, places, element_of, "pool_grad")

        def element_at(*i: Any) -> Any:
            def of_part(part: Any, r: Sequence[Any], q: Sequence[Any]) -> Any:
                place = [q[axes.index(n)] if n in axes else index for n, index in enumerate(i)]
                return te.cast(te.const(0, wide) if part is None else part[(*r, *place)], out_type.dtype)

            return interleaved(parts, self.strides, [i[a] for a in axes], of_part)

        return te.compute(out_type.shape, element_at, name="interleave", tag="injective")


@operator("nn.max_pool2d_grad", "data", "grad", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="MaxPool2DAttrs", level=2)
@dataclass(frozen=True)
class MaxPool2DGrad(PoolGrad):
    """Gradient of `nn.max_pool2d`: each window's gradient goes to its first largest element."""

    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False

    def spread(self, grad: np.ndarray, x: np.ndarray, reach: Any, pads: Any, total: np.ndarray) -> None:
        padded = pad_spatial(x, reach, lowest(x.dtype))
        taps = list(product(*map(range, self.pool_size)))
        out = grad.shape[-2:]
        seen = np.stack([tap_view(padded, tap, out, self.strides, self.gaps) for tap in taps])
        chosen = seen.argmax(axis=0)
        for i, tap in reversed([*enumerate(taps)]):
            tap_view(total, tap, out, self.strides, self.gaps)[...] += np.where(chosen == i, grad, 0)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        """The largest element of each window, the first tap that has it, and for each element the gradients of windows whose tap it is."""
        grad, x = inputs
        axes = spatial_axes(self.layout, "HW", x.ndim)
        pads: Any = pad_amounts(self.padding, 2)
        sizes, counts = ([t.shape[a] for a in axes] for t in (x, grad))
        reach = reached(sizes, counts, self.pool_size, self.strides, self.gaps, pads)
        padded = pad_axes(x, axes, reach, least(x.dtype))
        first = self._first_tap(padded, self._largest(padded, axes, grad.shape), axes)

        def step(place: Sequence[Any], taps: Sequence[Any], around: Any) -> Any:
            hit = around(first, math.prod(self.pool_size))[tuple(place)].equal(taps[0] * self.pool_size[1] + taps[1])
            return te.select(hit, around(grad, 0)[tuple(place)], te.const(0, grad.dtype))

        return self.sum_over_windows(grad.shape, out_type, axes, step)

    def _taps(self, padded: Any, axes: Sequence[int], i: Sequence[Any]) -> tuple[list[Any], Any]:
        """The axes over the taps of window `i`, and their element."""
        over = [te.reduce_axis(k, name=f"k{n}", window=True) for n, k in enumerate(self.pool_size)]
        indices = list(i)
        for axis, t, s, d in zip(axes, over, self.strides, self.gaps, strict=True):
            indices[axis] = place_of_tap(i[axis], s, t, d)
        return over, padded[tuple(indices)]

    def _largest(self, padded: Any, axes: Sequence[int], shape: Sequence[Any]) -> Any:
        def largest(*i: Any) -> Any:
            over, value = self._taps(padded, axes, i)
            return te.max(value, axis=over)

        return te.compute(shape, largest, name="most", tag="pool_max")

    def _first_tap(self, padded: Any, most: Any, axes: Sequence[int]) -> Any:
        def first(*i: Any) -> Any:
            over, value = self._taps(padded, axes, i)
            has_it = value.equal(most[i])
            if is_float(padded.dtype):
                has_it = te.any(has_it, te.not_equal(value, value))
            number = over[0] * self.pool_size[1] + over[1]
            return te.min(te.select(has_it, number, te.max_value("int32")), axis=over)

        return te.compute(most.shape, first, name="first", tag="comm_reduce")


# TVM declares MaxPool2DAttrs here and uses AvgPool2DAttrs, so its printer refers to the attributes by metadata.
@operator(
    "nn.avg_pool2d_grad",
    "data",
    "grad",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="AvgPool2DAttrs",
    level=2,
    declares_attrs=False,
)
@dataclass(frozen=True)
class AvgPool2DGrad(PoolGrad):
    """Gradient of `nn.avg_pool2d`: each window's gradient is distributed over its elements."""

    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False

    def spread(self, grad: np.ndarray, x: np.ndarray, reach: Any, pads: Any, total: np.ndarray) -> None:
        out = grad.shape[-2:]
        if self.count_include_pad:
            counts = np.array(int(np.prod(self.pool_size)))
        else:
            along = [
                window_counts(
                    x.shape[x.ndim - 2 + i], self.pool_size[i], self.strides[i], pads[i], self.gaps[i], out[i], False
                )
                for i in range(2)
            ]
            counts = np.maximum(along[0][:, None] * along[1], 1)
        counts = counts.astype(grad.dtype)
        share = grad / counts if grad.dtype.kind == "f" else grad // counts
        for tap in reversed([*product(*map(range, self.pool_size))]):
            tap_view(total, tap, out, self.strides, self.gaps)[...] += share

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        grad, x = inputs
        axes = spatial_axes(self.layout, "HW", x.ndim)
        share = self._shares(grad, x, axes)
        return self.sum_over_windows(
            grad.shape, out_type, axes, lambda place, taps, around: around(share, 0)[tuple(place)]
        )

    def _shares(self, grad: Any, x: Any, axes: Sequence[int]) -> Any:
        """The share of a tap in the gradient of each window."""
        pads: Any = pad_amounts(self.padding, 2)
        whole = grad.dtype.startswith(("int", "uint"))

        def share(*i: Any) -> Any:
            count: Any = 1
            for axis, k, s, d, pad in zip(axes, self.pool_size, self.strides, self.gaps, pads, strict=True):
                count = count * (
                    k if self.count_include_pad else window_count(i[axis], x.shape[axis], k, s, pad, d, False)
                )
            divisor = (
                te.const(count, grad.dtype) if isinstance(count, int) else te.cast(te.maximum(count, 1), grad.dtype)
            )
            return te.floordiv(grad[i], divisor) if whole else grad[i] / divisor

        return te.compute(grad.shape, share, name="share", tag="elemwise")
