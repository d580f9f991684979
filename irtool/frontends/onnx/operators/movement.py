"""Tensors put together, taken apart, repeated and sliced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ....deferred import np
from ....diagnostics import IrError
from ....ir import TupleGetItem
from ....ir.dims import is_number
from ....ops.shape.slice import MAX
from ....symbolic_int import larger, maximum, minimum, signs
from ..arithmetic import cast
from ..counts import require_count
from ..memory_limit import require_steps
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tuples import concatenate
from ..value import Value, apply


@onnx_operator("Concat")
class Concat(OnnxOperator):
    """Tensors one behind the other along an axis."""

    @since(4, 11, 13)
    def join(self, first: Value, *rest: Value, axis: int) -> Result:
        positive_axis = first.axis(axis)
        return concatenate([first, *rest], positive_axis)


@onnx_operator("Split")
class Split(OnnxOperator):
    """Parts of a tensor along an axis: of given extents, or equal, the last one smaller if need be."""

    @since(2, 11)
    def by_attribute(self, x: Value, *, axis: int = 0, split: tuple[int, ...] | None = None) -> Result:
        return parts_of(x, x.axis(axis), split, len(self.node.outputs))

    @since(13)
    def by_input(self, x: Value, split: Value | None = None, *, axis: int = 0) -> Result:
        extents = None if split is None else split.ints("the extents of Split")
        return parts_of(x, x.axis(axis), extents, len(self.node.outputs))

    @since(18)
    def into_number(
        self, x: Value, split: Value | None = None, *, axis: int = 0, num_outputs: int | None = None
    ) -> Result:
        if split is not None and num_outputs is not None:
            raise IrError("both the extents of the parts and their number are given", code=DamagedModel)
        number = len(self.node.outputs) if num_outputs is None else num_outputs
        return parts_of(x, x.axis(axis), None if split is None else split.ints("the extents of Split"), number)


def parts_of(x: Value, axis: int, extents: Sequence[int] | None, number: int) -> Sequence[Value | TupleGetItem]:
    """The parts of a tensor along an axis: of these extents, or so many equal ones, of which the last is smaller if need be."""
    if extents is None:
        require_steps(require_count(number, "the number of parts"), "the parts")
        whole = x.shape[axis]
        if not isinstance(whole, int):
            raise IrError(f"axis {axis} of {x.tensor} must be known to be split in parts", code=UnknownExtent)
        each = -(-whole // number)
        extents = (*[each] * (number - 1), whole - each * (number - 1))
        if extents[-1] < 0:
            raise IrError(f"axis {axis} of {x.tensor} is too short for {number} parts", code=DamagedModel)
    elif not extents or any(d < 0 for d in extents):
        raise IrError(f"parts of {list(extents)} elements are none", code=DamagedModel)
    elif len(extents) != number:
        raise IrError(f"the extents of {len(extents)} parts are given for {number}", code=DamagedModel)
    elif isinstance(x.shape[axis], int) and sum(extents) != x.shape[axis]:
        raise IrError(f"parts of {list(extents)} are not all of axis {axis} of {x.tensor}", code=DamagedModel)
    if len(extents) == 1:
        return [x]
    ends = list(accumulate(extents[:-1]))
    if any(signs(d) != {1} for d in extents):  # Relay splits at indices that ascend
        return [
            x.call("strided_slice", begin=[b], end=[e], strides=[1], axes=[axis])
            for b, e in zip([0, *ends], [*ends, sum(extents)], strict=True)
        ]
    parts = x.call("split", indices_or_sections=ends, axis=axis)
    return [TupleGetItem(parts.expr, i) for i in range(len(extents))]


@onnx_operator("Tile")
class Tile(OnnxOperator):
    """The tensor repeated along each axis."""

    @since(6, 13)
    def repeat(self, x: Value, repeats: Value) -> Result:
        if not repeats.is_determined("the repeats of Tile"):
            return x.call("dyn.tile", repeats, reps=())
        times: Sequence[int] = repeats.ints("the repeats of Tile")
        if len(times) != x.rank:
            raise IrError(f"{len(times)} repeats are given for {x.rank} axes", code=DamagedModel)
        if any(n < 0 for n in times):
            raise IrError(f"the repeats of Tile are {list(times)}: none is below 0", code=DamagedModel)
        none = [axis for axis, n in enumerate(times) if not n]  # Relay repeats everything once at least
        if none:
            x = x.call("strided_slice", begin=[0] * len(none), end=[0] * len(none), strides=[1] * len(none), axes=none)
        times = [larger(n, 1) for n in times]
        return x.call("tile", reps=times) if any(n != 1 for n in times) else x


def _bounds(start: int, end: int, step: int, extent: int) -> tuple[int, int]:
    """The bounds of a slice counted from the front and clamped as in ONNX: to `0 … extent`, or, of steps backwards, the start to
    `0 … extent - 1`, where Python has -1 for the place before the first element, and the end to `-1 … extent - 1`."""
    start, end = (n + extent if n < 0 else n for n in (start, end))
    lowest, highest = (0, extent) if step > 0 else (-1, extent - 1)
    return minimum(maximum(start, 0), maximum(highest, 0)), minimum(maximum(end, lowest), highest)


def _first_within(begin: Value, steps: Value, extents: Value) -> Value:
    """Starts as they are, but those of steps backwards counted from the front and no less than 0."""
    zero = Value.constant(0, "int64")
    counted = apply("where", begin.call("less", zero), begin.call("add", extents), begin).call("maximum", zero)
    return apply("where", steps.call("less", zero), counted, begin)


@onnx_operator("Slice")
class Slice(OnnxOperator):
    """Every `steps[i]`-th element from `starts[i]` to `ends[i]` along `axes[i]`."""

    @since(1)
    def by_attribute(
        self, x: Value, *, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None = None
    ) -> Result:
        axes = tuple(range(len(starts))) if axes is None else axes
        return self._known(x, starts, ends, axes, (1,) * len(axes))

    @since(10, 11, 13)
    def by_input(
        self, x: Value, starts: Value, ends: Value, axes: Value | None = None, steps: Value | None = None
    ) -> Result:
        if starts.rank != 1:
            raise IrError(f"the starts of Slice are {starts.tensor}, not a vector", code=DamagedModel)
        (count,) = starts.extents("the starts of Slice", rank=1)
        along = tuple(range(count)) if axes is None else axes.ints("the axes of Slice")
        bounds = {"the starts of Slice": starts, "the ends of Slice": ends, "the steps of Slice": steps}
        if not all(v is None or v.is_determined(what) for what, v in bounds.items()):
            return self._computed(x, starts, ends, along, steps)
        by = (1,) * count if steps is None else steps.ints("the steps of Slice")
        return self._known(x, starts.ints("the starts of Slice"), ends.ints("the ends of Slice"), along, by)

    def _known(
        self, x: Value, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]
    ) -> Value:
        if not len(starts) == len(ends) == len(axes) == len(steps):
            raise IrError("there are not as many starts as ends, axes and steps", code=DamagedModel)
        if 0 in steps:
            raise IrError("a step is 0", code=DamagedModel)
        ranges = []
        for start, end, axis, step in zip(starts, ends, x.axes(axes), steps, strict=True):
            extent = x.shape[axis]
            if not isinstance(extent, int):
                ranges.append((start, end, axis, step))
                continue
            start, end = _bounds(start, end, step, extent)
            if (start, end, step) == (0, extent, 1):
                continue
            if signs((end - start) * step) <= {-1, 0}:
                start = end = 0
                step = 1
            # -1 as an end says that the first element belongs to the slice; Relay would count it from the back.
            ranges.append((start, -extent - 1 if end < 0 else end, axis, step))
        if not ranges:
            return x
        columns = [list(c) for c in zip(*ranges, strict=True)]
        return x.call("strided_slice", **dict(zip(("begin", "end", "axes", "strides"), columns, strict=True)))

    def _computed(self, x: Value, starts: Value, ends: Value, axes: Sequence[int], steps: Value | None) -> Value:
        """Bounds that are not known: vectors of them for all axes."""
        along = x.axes(axes)

        def bounds(bound: Value | None, otherwise: Sequence[int]) -> Value:
            parts = [Value.constant(np.array([n], "int64")) for n in otherwise]
            if bound is not None:
                bound = cast(bound, "int64")
                for i, axis in enumerate(along):
                    parts[axis] = bound.call("strided_slice", begin=[i], end=[i + 1], strides=[1], axes=[0])
            return concatenate(parts, 0)

        everything = [d if is_number(d) else MAX for d in x.shape]
        begin, end = bounds(starts, [0] * x.rank), bounds(ends, everything)
        by = bounds(steps, [1] * x.rank)
        if by.known is None or (by.known < 0).any():
            begin = _first_within(begin, by, x.call("shape_of", dtype="int64"))
        return x.call(
            "dyn.strided_slice",
            begin,
            end,
            by,
            begin=None,
            end=None,
            strides=None,
            axes=None,
        )
