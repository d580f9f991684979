"""Operators that cut a box out of a tensor, or write one into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim, Int64, plain
from ...symbolic_int import maximum, minimum, signs
from ...tir import dtypes
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import require_dtype
from ..shapes import add, floordiv, normalize_axis, require_integers, sub, tensor
from .partly_known import same_axes

MAX = 2**63 - 1
"""Stands for an end that was left out."""


@dataclass(frozen=True)
class Range:
    """The slice of one axis, in the words of the attributes: indices may be negative or beyond the extent."""

    axis: int
    begin: int
    end: int
    stride: int

    def within(self, extent: int) -> tuple[int, int]:
        """The first index and the number of elements: 0 where the end lies before the begin."""
        if self.stride == 0:
            raise RelationError(f"the stride of axis {self.axis} is 0")
        begin, end = self._clip(self.begin, extent), self._clip(self.end, extent)
        steps = end - begin if self.stride > 0 else begin - end
        if signs(steps) == {-1}:
            return maximum(begin, 0), 0
        return begin, -(-maximum(steps, 0) // abs(self.stride))

    def _clip(self, index: int, extent: int) -> int:
        low, high = (-1, extent - 1) if self.stride < 0 else (0, extent)
        return minimum(maximum(index + extent if index < 0 else index, low), high)


def require_slice_mode(mode: str) -> None:
    """RelationError for another way to give the bounds than TVM has."""
    if mode not in ("end", "size"):
        raise RelationError(f'slice_mode is "{mode}"; it can be "end" or "size"')


def slice_ranges(
    rank: int,
    begin: Sequence[int | None],
    end: Sequence[int | None],
    strides: Sequence[int | None],
    slice_mode: str,
    axes: Sequence[int] | None,
) -> list[Range]:
    """One range per sliced axis. What is missing at the end of the lists (or None in them) takes the whole axis.

    With `slice_mode="size"` the ends are extents, -1 being all that remains, and strides are 1.
    """
    require_slice_mode(slice_mode)
    if axes is None:
        axes = range(rank)
        if max(len(begin), len(end), len(strides)) > rank:
            raise RelationError(f"begin, end or strides name more axes than a tensor of rank {rank} has")
    elif not len(axes) == len(begin) == len(end) == len(strides):
        raise RelationError(
            f"axes, begin, end and strides have the lengths {len(axes)}, {len(begin)}, {len(end)} and {len(strides)}, "
            "which must agree"
        )
    ranges = []
    for i, axis in enumerate(axes):
        if not 0 <= axis < rank:
            raise RelationError(f"axis {axis} is out of range for a tensor of rank {rank}")
        declared = _at(strides, i)
        stride = 1 if declared is None else declared
        step = stride if slice_mode == "end" else 1
        first = _at(begin, i)
        if first is None:
            first = 0 if stride > 0 else MAX
        last = _at(end, i)
        if last is None:
            last = MAX if stride >= 0 else 0
        elif slice_mode == "size":
            last = MAX if last < 0 else first + last
        ranges.append(Range(int(axis), plain(first), plain(last), plain(step)))
    return ranges


def _at(values: Sequence[int | None], i: int) -> int | None:
    return values[i] if i < len(values) else None


def slice_array(data: Any, ranges: Sequence[Range]) -> Any:
    """The numpy array cut to `ranges`."""
    index: list[Any] = [slice(None)] * data.ndim
    for r in ranges:
        begin, count = r.within(data.shape[r.axis])
        if r.stride > 0:
            index[r.axis] = slice(begin, begin + r.stride * count, r.stride)
        else:
            last = begin + r.stride * count
            index[r.axis] = slice(begin, last if last >= 0 else None, r.stride) if count else slice(0, 0)
    return data[tuple(index)]


@operator("strided_slice", "data", pattern=Pattern.INJECTIVE, attrs="StridedSliceAttrs", level=4)
@dataclass(frozen=True)
class StridedSlice(Operator):
    """Every `strides[i]`-th element from `begin[i]` up to, without it, `end[i]` along axis i (or `axes[i]`).

    Negative indices count from the end; indices beyond the extent are clipped to it. A range that ends before it begins is
    empty, where TVM refuses it. With `slice_mode="size"`, `end` is
    the number of elements (-1 for all that remain) and strides are ignored.
    """

    precision = "follow"
    integer_form = "same"

    begin: tuple[int | None, ...] | None
    end: tuple[int | None, ...] | None
    strides: tuple[int | None, ...] | None
    slice_mode: str = "end"
    axes: tuple[int, ...] | None = field(kw_only=True)

    one_dtype = ("data", "result")

    def ranges(self, rank: int) -> list[Range]:
        """The slice of each sliced axis of a tensor of that rank."""
        if self.begin is None or self.end is None or self.strides is None:
            raise RelationError("begin, end and strides must be given")
        return slice_ranges(rank, self.begin, self.end, self.strides, self.slice_mode, self.axes)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; each extent is the number of steps from begin to end."""
        data = tensor(types[0])
        if data is None:
            return None
        ranges = self.ranges(len(data.shape))
        if not ranges:
            raise RelationError("no axis is sliced")
        shape = list(data.shape)
        for r in ranges:
            d = data.shape[r.axis]
            if isinstance(d, int):
                count = r.within(d)[1]
                shape[r.axis] = Int64(count) if isinstance(d, Int64) else count
            else:
                shape[r.axis] = ANY
        return TensorType(tuple(shape), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        known = args[0] if args[0] is not None else out
        if known is None:
            return list(args), out
        sliced = {r.axis for r in self.ranges(len(known))}
        return same_axes(args[0], out, [i for i in range(len(known)) if i not in sliced])

    def evaluate(self, data: Any) -> Any:
        return slice_array(data, self.ranges(data.ndim))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        ranges = {r.axis: r for r in self.ranges(len(data.shape))}

        def source(axis: int, i: Any) -> Any:
            if axis not in ranges:
                return i
            begin, stride = ranges[axis].within(data.shape[axis])[0], ranges[axis].stride
            scaled = i if stride == 1 else i * stride
            return scaled if begin == 0 else scaled + begin

        return te.compute(
            out_type.shape,
            lambda *i: data[tuple(source(a, k) for a, k in enumerate(i))],
            name="T_strided_slice",
            tag="injective",
        )


FARTHEST = 2**30
"""Bounds and strides beyond it, which mean the same, are taken to be it: sums of two of them are within int32."""


def _near(bound: Any) -> Any:
    """A bound as int32, no farther from 0 than `FARTHEST`."""
    low, high = (0, 0) if dtypes.is_float(bound.dtype) else dtypes.int_range(bound.dtype)
    if high > FARTHEST:
        bound = te.minimum(bound, te.const(FARTHEST, bound.dtype))
    if low < -FARTHEST:
        bound = te.maximum(bound, te.const(-FARTHEST, bound.dtype))
    return te.cast(bound, "int32")


@operator("strided_set", "data", "v", "begin", "end", "strides", pattern=Pattern.INJECTIVE, level=4)
@dataclass(frozen=True)
class StridedSet(Operator):
    """`data` with the elements that `strided_slice` would take replaced by those of `v`; the bounds are vectors."""

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data; begin, end and strides are vectors."""
        data = tensor(types[0], "data")
        if data is None:
            return None
        v = tensor(types[1], "v")
        if v is not None and len(v.shape) != len(data.shape):
            raise RelationError(f"v must have the rank of the data, {len(data.shape)}, and is {v}")
        for i, name in enumerate(("begin", "end", "strides"), 2):
            bounds = tensor(types[i], name)
            if bounds is not None and len(bounds.shape) != 1:
                raise RelationError(f"{name} must be a vector, not {bounds}")
            require_integers(bounds, name)
        if v is not None:
            require_dtype(data, v)
            for i, (have, v_extent) in enumerate(zip(data.shape, v.shape, strict=True)):
                reporter.require_elements((v_extent,), (have,), f"axis {i} of v has no element to take: {v}")
        return data

    def evaluate(self, data: Any, v: Any, begin: Any, end: Any, strides: Any) -> Any:
        out = np.array(data)
        grid, source = [], []
        for axis, extent in enumerate(data.shape):
            step = int(strides[axis]) if axis < len(strides) else 1
            step = step or 1  # as compiled code does it: a step of 0 has no meaning
            first = int(begin[axis]) if axis < len(begin) else 0 if step > 0 else extent
            last = int(end[axis]) if axis < len(end) else extent + 1 if step > 0 else -(extent + 1)
            first, last, step = (min(max(b, -FARTHEST), FARTHEST) for b in (first, last, step))
            first = first + extent if first < 0 else first
            last = last + extent if last < 0 else last
            steps = np.arange(extent)
            if step > 0:
                is_set = (steps >= first) & (steps < last) & ((steps - first) % step == 0)
                position = (steps - first) // step
            else:
                top = min(first, extent - 1)
                is_set = (steps <= first) & (steps > last) & ((steps - last + last % -step + 1) % -step == 0)
                position = (top - steps) // -step
            grid.append(steps[is_set])
            source.append(np.clip(position[is_set], 0, max(v.shape[axis] - 1, 0)))
        out[np.ix_(*grid)] = v[np.ix_(*source)]
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, v, begin, end, strides = inputs

        def bound(vector: Any, axis: int, otherwise: Any) -> Any:
            return _near(vector[axis]) if axis < vector.shape[0] else otherwise

        def element(*i: Any) -> Any:
            inside, source = [], []
            for axis, extent in enumerate(data.shape):
                step = bound(strides, axis, te.const(1, "int32"))
                first = bound(begin, axis, te.select(step > 0, te.const(0, "int32"), te.const(extent, "int32")))
                last = bound(
                    end, axis, te.select(step > 0, te.const(extent + 1, "int32"), te.const(-extent - 1, "int32"))
                )
                first = te.select(first < 0, first + extent, first)
                last = te.select(last < 0, last + extent, last)
                width = te.max2(te.select(step < 0, 0 - step, step), 1)
                index = i[axis]
                up = te.all(index >= first, index < last, te.floormod(index - first, width).equal(0))
                down = te.all(
                    index <= first,
                    index > last,
                    te.floormod(index - last + te.floormod(last, width) + 1, width).equal(0),
                )
                inside.append(te.select(step < 0, down, up))
                top = te.min2(first, extent - 1)
                position = te.select(step < 0, te.floordiv(top - index, width), te.floordiv(index - first, width))
                source.append(te.max2(te.min2(position, v.shape[axis] - 1), 0))
            return te.if_then_else(te.all(*inside), v[tuple(source)], data[i]) if inside else data[()]

        return te.compute(data.shape, element, name="strided_set", tag="injective")


@operator("slice_like", "data", "shape_like", pattern=Pattern.INJECTIVE, attrs="SliceLikeAttrs", level=10)
@dataclass(frozen=True)
class SliceLike(Operator):
    """The front part of `data`, with the extents of another tensor along `axes` (by default, along all axes that both have)."""

    axes: tuple[int, ...] | None

    one_dtype = ("data", "result")

    def target_shape(self, shape: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
        if self.axes is not None and not self.axes:
            raise RelationError("axes must not be empty")
        axes = range(min(len(shape), len(like))) if self.axes is None else self.axes
        out = list(shape)
        for a in axes:
            axis = normalize_axis(a, len(shape))
            if axis >= len(like):
                raise RelationError(f"axis {axis} is out of range for shape_like, which has rank {len(like)}")
            have, want = shape[axis], like[axis]
            if isinstance(have, int) and isinstance(want, int) and want > have:
                raise RelationError(f"axis {axis} of data is {have} and cannot be cut to {want}")
            out[axis] = want
        return tuple(out)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; along `axes` (all without) the extents of the second argument."""
        data, like = tensor(types[0], "data"), tensor(types[1], "shape_like")
        if data is None or like is None:
            return None
        return TensorType(self.target_shape(data.shape, like.shape), data.dtype)

    def evaluate(self, data: Any, like: Any) -> Any:
        return data[tuple(slice(0, d) for d in self.target_shape(data.shape, like.shape))]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return te.compute(out_type.shape, lambda *i: inputs[0][i], name="slice_like", tag="injective")


@operator("sliding_window", "data", pattern=Pattern.OPAQUE, attrs="SlidingWindowAttrs", level=10)
@dataclass(frozen=True)
class SlidingWindow(Operator):
    """All windows of shape `window_shape` over the axes from `axis` on, in steps of `strides`.

    The axes before `axis` stay; then come the numbers of windows, then the axes of one window.
    """

    axis: int
    window_shape: tuple[int, ...]
    strides: tuple[int, ...]

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's leading axes, the number of window positions along each axis from `axis` on, then `window_shape`."""
        data = tensor(types[0])
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        if len(self.window_shape) != len(self.strides):
            raise RelationError(
                f"window_shape has {len(self.window_shape)} elements, but strides has {len(self.strides)}"
            )
        if axis + len(self.window_shape) != len(data.shape):
            raise RelationError(
                f"windows of {len(self.window_shape)} axes from axis {axis} on do not cover a tensor of rank {len(data.shape)}"
            )
        counts = []
        for i, (window, stride) in enumerate(zip(self.window_shape, self.strides, strict=True)):
            extent = data.shape[axis + i]
            if window < 1 or stride < 1:
                raise RelationError(f"the window {window} and the stride {stride} of axis {axis + i} must be positive")
            if isinstance(extent, int) and window > extent:
                raise RelationError(f"the window of axis {axis + i} is {window}, but the axis is {extent}")
            counts.append(floordiv(add(sub(extent, window - 1), stride - 1), stride))
        return TensorType((*data.shape[:axis], *counts, *self.window_shape), data.dtype)

    def evaluate(self, data: Any) -> Any:
        axis = self.axis % data.ndim
        over = tuple(range(axis, axis + len(self.window_shape)))
        windows = np.lib.stride_tricks.sliding_window_view(data, self.window_shape, over)
        return windows[(slice(None),) * axis + tuple(slice(None, None, s) for s in self.strides)].copy()

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        axis, n = self.axis % len(data.shape), len(self.window_shape)

        def element(*i: Any) -> Any:
            starts = [k * s for k, s in zip(i[axis : axis + n], self.strides, strict=True)]
            return data[(*i[:axis], *[s + w for s, w in zip(starts, i[axis + n :], strict=True)])]

        return te.compute(out_type.shape, element, name="sliding_window", tag="opaque")
