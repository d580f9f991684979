"""Gradients of two-dimensional pooling by its data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ...tir.stmt import PARALLEL, SERIAL
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..dtypes import is_float
from ..partial import is_settled, meet, meet_dims, window_input
from ..relations import require_dtype
from ..shape.partly_known import same_axes
from ..shapes import add, require_compatible, require_numbers, require_rank, tensor
from .convolve import pad_spatial, tap_view
from .geometry import dilated, pad_amounts, per_axis, positions, reached
from .pool import spatial_axes
from .pool_reference import lowest, window_counts
from .precision import narrow, widen
from .window_expression import least, window_count


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
        """Adds each window's gradient to the padded `total`."""
        raise NotImplementedError


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
        for i, tap in enumerate(taps):
            tap_view(total, tap, out, self.strides, self.gaps)[...] += np.where(chosen == i, grad, 0)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        """The largest element of each window, the first tap that has it, and the gradients added up at these places."""
        grad, x = inputs
        axes = spatial_axes(self.layout, "HW", x.ndim)
        most = self._largest(grad, x, axes)
        taps = [grad, most, self._first_tap(grad, x, axes, most)]

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            (total,) = outs
            with ExitStack() as loops:
                place: list[Any] = [None] * x.ndim
                for n, axis in enumerate(a for a in range(x.ndim) if a not in axes):
                    kind = PARALLEL if n == 0 else SERIAL
                    place[axis] = loops.enter_context(ib.for_(x.shape[axis], name=f"i{axis}", kind=kind))
                with ib.for_(x.shape[axes[0]], name="row") as row, ib.for_(x.shape[axes[1]], name="column") as column:
                    place[axes[0]], place[axes[1]] = row, column
                    ib.store(total, tuple(place), te.const(0, x.dtype))
                self._add_windows(ib, ins, total, place, axes)

        return te.extern(out_type.shape, taps, fill, dtype=out_type.dtype, name="pool_grad")

    def _taps(self, name: str) -> list[Any]:
        return [te.reduce_axis(k, name=f"{name}{n}", window=True) for n, k in enumerate(self.pool_size)]

    def _place(
        self, window: Sequence[Any], taps: Sequence[Any], axes: Sequence[int], shape: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The indices of a window's tap, and the conditions that it is in the data."""
        indices, inside = list(window), []
        pads: Any = pad_amounts(self.padding, 2)
        for axis, t, s, d, pad in zip(axes, taps, self.strides, self.gaps, pads, strict=True):
            indices[axis] = window[axis] * s + t * d - pad[0]
            inside += [indices[axis] >= 0, indices[axis] < shape[axis]]
        return indices, inside

    def _largest(self, grad: Any, x: Any, axes: Sequence[int]) -> Any:
        over = self._taps("m")

        def largest(*i: Any) -> Any:
            indices, inside = self._place(i, over, axes, x.shape)
            none = te.const(least(x.dtype), x.dtype)
            return te.max(te.if_then_else(te.all(*inside), x[tuple(indices)], none), axis=over)

        return te.compute(grad.shape, largest, name="most", tag="pool_max")

    def _first_tap(self, grad: Any, x: Any, axes: Sequence[int], most: Any) -> Any:
        over, none = self._taps("k"), te.max_value("int32")

        def first(*i: Any) -> Any:
            indices, inside = self._place(i, over, axes, x.shape)
            value = x[tuple(indices)]
            has_it = value.equal(most[i])
            if is_float(x.dtype):
                has_it = te.any(has_it, te.not_equal(value, value))
            tap = te.select(has_it, over[0] * self.pool_size[1] + over[1], none)
            return te.min(te.if_then_else(te.all(*inside), tap, none), axis=over)

        return te.compute(grad.shape, first, name="first", tag="comm_reduce")

    def _add_windows(self, ib: Any, ins: Sequence[Any], total: Any, place: Sequence[Any], axes: Sequence[int]) -> None:
        """Adds the gradients of a plane's windows, the last one first, which is the order of `spread`'s sums."""
        grad, most, first = ins
        with ib.for_(grad.shape[axes[0]], name="y") as up, ib.for_(grad.shape[axes[1]], name="x") as left:
            window = list(place)
            window[axes[0]], window[axes[1]] = grad.shape[axes[0]] - 1 - up, grad.shape[axes[1]] - 1 - left
            # Where no element is above the padding, that of the first tap is the largest one.
            is_padding = most[tuple(window)].equal(te.const(least(most.dtype), most.dtype))
            tap = ib.let(te.select(is_padding, te.const(0, "int32"), first[tuple(window)]))
            taps = te.floordiv(tap, self.pool_size[1]), te.floormod(tap, self.pool_size[1])
            to, inside = self._place(window, taps, axes, total.shape)
            with ib.if_(te.all(tap < math.prod(self.pool_size), *inside)):
                ib.store(total, tuple(to), total[tuple(to)] + grad[tuple(window)])


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
        for tap in product(*map(range, self.pool_size)):
            tap_view(total, tap, out, self.strides, self.gaps)[...] += share

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        grad, x = inputs
        axes = spatial_axes(self.layout, "HW", x.ndim)
        pads: Any = pad_amounts(self.padding, 2)
        share = self._shares(grad, x, axes, pads)
        taps = [te.reduce_axis(k, name=f"t{n}") for n, k in enumerate(self.pool_size)]

        def element(*i: Any) -> Any:
            indices, inside = list(i), []
            for axis, t, s, d, pad in zip(axes, taps, self.strides, self.gaps, pads, strict=True):
                first = i[axis] + pad[0] - t * d
                indices[axis] = te.floordiv(first, s)
                inside += [first >= 0, te.floormod(first, s).equal(0), indices[axis] < grad.shape[axis]]
            return te.sum(
                te.if_then_else(te.all(*inside), share(tuple(indices), taps), te.const(0, grad.dtype)), axis=taps
            )

        return te.compute(out_type.shape, element, name="pool_grad", tag="pool_grad")

    def _shares(self, grad: Any, x: Any, axes: Sequence[int], pads: Any) -> Any:
        """The share of a tap in the gradient of a window: a function of the indices of both."""

        def share(indices: tuple[Any, ...], taps: Sequence[Any]) -> Any:
            count: Any = 1
            for n, axis in enumerate(axes):
                k = self.pool_size[n]
                if self.count_include_pad:
                    count = count * k
                else:
                    gap = self.gaps[n]
                    count = count * window_count(indices[axis], x.shape[axis], k, self.strides[n], pads[n], gap, False)
            divisor = (
                te.const(count, grad.dtype) if isinstance(count, int) else te.cast(te.maximum(count, 1), grad.dtype)
            )
            return (
                te.floordiv(grad[indices], divisor)
                if grad.dtype.startswith(("int", "uint"))
                else grad[indices] / divisor
            )

        return share
