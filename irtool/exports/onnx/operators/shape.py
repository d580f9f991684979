"""Operators that move elements: reshape, transpose, join, slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ....ir import Constant, TensorType
from ..form import Absent, Form, NoForm, decomposed, form, row
from ..graph import Value
from ..site import OnnxSite
from .open_shape import shape_of_codes, shape_of_like
from .unary import truncated


@form(
    "reshape",
    "contrib_reverse_reshape",
    "reshape_like",
    "squeeze",
    "expand_dims",
    "nn.batch_flatten",
    "vm.reshape_tensor",
)
@dataclass(frozen=True)
class Reshape(Form):
    """`Reshape` to the shape of the result; with unknown extents `Unsqueeze`, `Squeeze`, `Flatten`, or computed"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        name, attrs = s.attrs.name, s.attrs
        if name == "expand_dims" and not s.out.is_static:
            rank = len(s.tensor(0).shape)
            first = attrs.axis % (rank + 1) if attrs.axis < 0 else attrs.axis
            return s.unsqueeze(x, *range(first, first + attrs.num_newaxis))
        if name == "squeeze" and not s.out.is_static:
            return s.squeeze(x, *s.axes(0, attrs.axis)) if attrs.axis is not None else s.node("Squeeze", x)
        if name == "nn.batch_flatten" and not s.out.is_static:
            return s.node("Flatten", x, axis=1)
        unknown = sum(not isinstance(d, int) for d in s.out.shape)
        if unknown > 1 and name in ("reshape", "contrib_reverse_reshape"):
            return self._computed(s)
        if unknown > 1 and name == "reshape_like":
            return s.node("Reshape", x, shape_of_like(s, attrs), allowzero=1)
        if unknown > 1:
            s.refuse("more than one extent of the result is not known")
        shape = [int(d) if isinstance(d, int) else -1 for d in s.out.shape]
        if -1 in shape and 0 in shape:
            s.refuse("the result is empty, and one of its extents is not known")
        return s.reshape(x, shape)

    def _computed(self, s: OnnxSite) -> Value:
        """With TVM's codes: ONNX has 0, which takes over an extent, and -1, which follows from the others; the rest is computed."""
        codes = list(s.attrs.newshape)
        if not all(isinstance(c, int) for c in codes):
            s.refuse("more than one extent of the result is not known")
        rank, backwards = len(s.tensor(0).shape), s.attrs.name == "contrib_reverse_reshape"
        if backwards or any(c < -1 for c in codes) or any(c == 0 and i >= rank for i, c in enumerate(codes)):
            # A computed extent may be 0, which is to be one, rather than taken over from the place where it stands.
            return s.node("Reshape", s.inputs[0], shape_of_codes(s, codes, backwards), allowzero=1)
        return s.node("Reshape", s.inputs[0], s.ints(*codes))


@form("transpose")
@dataclass(frozen=True)
class Transpose(Form):
    """`Transpose`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        rank = len(s.tensor(0).shape)
        axes = s.attrs.axes
        order = list(range(rank))[::-1] if not axes else s.axes(0, axes)
        return s.node("Transpose", s.inputs[0], perm=order) if rank else s.node("Identity", s.inputs[0])


@form("concatenate")
@dataclass(frozen=True)
class Concatenate(Form):
    """`Concat`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        fields = list(s.inputs[0])
        rank = len(s.out.shape)
        return s.node("Concat", *fields, axis=s.attrs.axis % rank)


@form("stack")
@dataclass(frozen=True)
class Stack(Form):
    """`Unsqueeze` of each, `Concat`"""

    def emit(self, s: OnnxSite) -> Any:
        axis = s.attrs.axis % len(s.out.shape)
        return s.node("Concat", *(s.unsqueeze(v, axis) for v in s.inputs[0]), axis=axis)


@form("split")
@dataclass(frozen=True)
class Split(Form):
    """`Split`, of equal parts or at places"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        axis = s.axes(0, [s.attrs.axis])[0]
        parts = s.attrs.indices_or_sections
        count = len(s.fields)
        if isinstance(parts, int):
            pieces = s.nodes("Split", count, x, dtypes=[x.dtype] * count, axis=axis, num_outputs=count)
            return tuple(pieces)
        sizes = [f.shape[axis] for f in s.fields]
        if not all(isinstance(d, int) for d in sizes):
            starts = [0, *parts]
            ends = [*parts, (1 << 63) - 1]
            return tuple(s.slice(x, [a], [b], [axis]) for a, b in zip(starts, ends, strict=True))
        return tuple(
            s.nodes(
                "Split",
                count,
                x,
                s.ints(*(int(d) for d in sizes if isinstance(d, int))),
                dtypes=[x.dtype] * count,
                axis=axis,
            )
        )


@form("strided_slice")
@dataclass(frozen=True)
class StridedSlice(Form):
    """`Slice`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        ranges = s.attrs.ranges(len(s.tensor(0).shape))
        starts = [_bound(r.begin) for r in ranges]
        ends = [_bound(r.end) for r in ranges]
        return s.slice(s.inputs[0], starts, ends, [r.axis for r in ranges], [r.stride for r in ranges])


_LAST = (1 << 63) - 1


def _bound(index: int) -> int:
    """A bound for ONNX: one beyond all axes is the end of the axis, or lies before its start."""
    if index >= (1 << 31) - 1:
        return _LAST
    return -_LAST if index <= -(1 << 31) + 1 else index


@form("reverse")
@dataclass(frozen=True)
class Reverse(Form):
    """`Slice` with a step of -1"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.slice(s.inputs[0], [-1], [-_LAST], s.axes(0, [s.attrs.axis]), [-1])


@form("reverse_sequence")
@dataclass(frozen=True)
class ReverseSequence(Form):
    """`ReverseSequence`; other axes than the first two are moved there and back"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, lengths = s.inputs
        time, batch = s.axes(0, [s.attrs.seq_axis, s.attrs.batch_axis])
        rank = len(s.tensor(0).shape)
        order = [time, batch, *(a for a in range(rank) if a not in (time, batch))]
        back = [order.index(a) for a in range(rank)]
        if time == batch:
            s.refuse("the axis of sequences and that of batches are one")
        moved = s.transpose(x, order)
        extent = s.squeeze(s.extent(0, time), 0)
        clipped = s.node("Clip", s.cast(lengths, "int64"), s.constant(0, "int64"), extent)
        reversed_rows = s.node("ReverseSequence", moved, clipped, time_axis=0, batch_axis=1)
        return s.transpose(reversed_rows, back)


@form("broadcast_to", "broadcast_to_like")
@dataclass(frozen=True)
class BroadcastTo(Form):
    """`Expand`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.node("Expand", s.inputs[0], result_shape(s))


def result_shape(s: OnnxSite) -> Value:
    """The shape of the result, or that of a second argument which has it."""
    if s.out.is_static:
        return s.ints(*s.static(s.out))
    if len(s.inputs) > 1 and s.attrs.name.endswith("_like"):
        return s.shape(s.inputs[1])
    raise NoForm("the shape of the result must be known")


@form("tile")
@dataclass(frozen=True)
class Tile(Form):
    """`Tile`, after a `Reshape` where ranks differ"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        rank, reps = len(s.tensor(0).shape), [int(r) for r in s.attrs.reps]
        if len(reps) > rank:
            x = s.unsqueeze(x, *range(len(reps) - rank))
        reps = [1] * (len(s.out.shape) - len(reps)) + reps
        return s.node("Tile", x, s.ints(*reps)) if reps else s.node("Identity", x)


@form("repeat")
@dataclass(frozen=True)
class Repeat(Form):
    """`Unsqueeze`, `Tile` along the new axis, `Reshape`"""

    def emit(self, s: OnnxSite) -> Any:
        x, count = s.inputs[0], int(s.attrs.repeats)
        rank, axis = len(s.tensor(0).shape), 0
        if s.attrs.axis is None:
            x, rank = s.reshape(x, [-1]), 1
        else:
            axis = s.axes(0, [s.attrs.axis])[0]
        wide = s.node(
            "Tile", s.unsqueeze(x, axis + 1), s.ints(*(count if a == axis + 1 else 1 for a in range(rank + 1)))
        )
        if s.out.is_static:
            return s.reshape(wide, s.static(s.out))
        shape = s.mul(s.shape(x), s.ints(*(count if a == axis else 1 for a in range(rank))))
        return s.node("Reshape", wide, shape)


@form("zeros", "ones", "full", "zeros_like", "ones_like", "full_like")
@dataclass(frozen=True)
class Filled(Form):
    """`Expand` of a scalar"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        name, dtype = s.attrs.name, s.out.dtype
        if name.startswith("full"):
            fill = s.cast(s.inputs[-1] if name == "full_like" else s.inputs[0], dtype)
        else:
            fill = s.constant(int(name.startswith("ones")), dtype)
        if s.out.is_static:
            shape = s.ints(*s.static(s.out))
        else:
            shape = s.shape(s.inputs[0])
        return s.node("Expand", fill, shape)


@form("collapse_sum_like", "collapse_sum_to")
@dataclass(frozen=True)
class CollapseSum(Form):
    """`ReduceSum`, `Reshape`"""

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        data, shape = s.dims(0), s.static(s.out)
        lead = len(data) - len(shape)
        axes = [a for a, d in enumerate(data) if a < lead or (d != 1 and shape[a - lead] == 1)]
        return s.reshape(s.reduce("ReduceSum", x, axes, True), shape)


@form("shape_of", "vm.shape_of")
@dataclass(frozen=True)
class ShapeOf(Form):
    """`Shape`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        extents = s.cast(s.shape(s.inputs[0]), s.out.dtype)
        return extents if s.out.shape else s.reshape(extents, [])


@form("ndarray_size")
@dataclass(frozen=True)
class NdarraySize(Form):
    """`Size`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.cast(s.node("Size", s.inputs[0], dtype="int64"), s.out.dtype)


@form("slice_like")
@dataclass(frozen=True)
class SliceLike(Form):
    """`Slice` up to the extents of the other tensor"""

    def emit(self, s: OnnxSite) -> Any:
        x, other = s.inputs
        rank = len(s.tensor(0).shape)
        axes = s.axes(0, s.attrs.axes) if s.attrs.axes else list(range(min(rank, len(s.tensor(1).shape))))
        ends = [s.tensor(1).shape[a] for a in axes]
        known = [int(d) for d in ends if isinstance(d, int)]
        if len(known) == len(ends):
            return s.slice(x, [0] * len(axes), known, axes)
        extents = s.node("Gather", s.shape(other), s.ints(*axes))
        return s.node("Slice", x, s.ints(*([0] * len(axes))), extents, s.ints(*axes))


@form("layout_transform", "auto_scheduler_layout_transform")
@dataclass(frozen=True)
class LayoutTransform(Form):
    """`Transpose`; with blocked axes `Reshape`, `Transpose`, `Reshape`, with `Pad` or `Slice` where blocks are not full"""

    def emit(self, s: OnnxSite) -> Any:
        source, target = axes_of(s.attrs.src_layout), axes_of(s.attrs.dst_layout)
        if s.attrs.name == "auto_scheduler_layout_transform":  # all parts of an axis are counted, and stand in order
            return regrouped(s, s.inputs[0], source, target)
        return relayout(s, s.inputs[0], s.tensor(0), source, target)


def regrouped(s: OnnxSite, x: Value, source: list[tuple[str, int]], target: list[tuple[str, int]]) -> Value:
    """A tensor whose axes are parts of others, in order, in other parts of these."""
    letters = list(dict.fromkeys(a for a, _ in source))
    x = s.transpose(x, [i for w in letters for i, (a, _) in enumerate(source) if a == w])
    x = s.reshape(x, [n for w in letters for a, n in target if a == w])
    split = [i for w in letters for i, (a, _) in enumerate(target) if a == w]
    return s.transpose(x, [split.index(i) for i in range(len(target))])


def axes_of(layout: str) -> list[tuple[str, int]]:
    """The axes of a layout with their block sizes, 0 for an axis that is counted whole: `NCHW16c`."""
    result, number = [], ""
    for letter in layout:
        if letter.isdigit():
            number += letter
        elif letter.isalpha():
            result.append((letter, int(number or 0)))
            number = ""
    return result


def relayout(s: OnnxSite, x: Value, t: TensorType, old: list[tuple[str, int]], new: list[tuple[str, int]]) -> Value:
    """A tensor in another layout. Blocked axes need a known shape."""
    if old == new:
        return s.node("Identity", x)
    wholes = [letter for letter, block in old if not block and letter.isupper()]
    if {a for a, _ in old if a.isupper()} != {a for a, _ in new if a.isupper()}:
        s.refuse("the layouts have other axes")
    # 1. to the plain axes: each whole axis followed by its blocks
    order = [
        i
        for w in wholes
        for i, (a, _) in sorted(enumerate(old), key=lambda e: (e[1][0].islower(), e[0]))
        if a.upper() == w
    ]
    x = s.transpose(x, order)
    if not any(block for _, block in (*old, *new)):
        letters = [old[i][0] for i in order]
        return s.transpose(x, [letters.index(a) for a, _ in new])
    shape = s.static(t)
    extents = {w: int(np.prod([shape[i] for i, (a, _) in enumerate(old) if a.upper() == w])) for w in wholes}
    if len(old) > len(wholes):
        x = s.reshape(x, [extents[w] for w in wholes])
    # 2. split into blocks of the target
    blocks = {w: [b for a, b in new if a.isupper() is False and a.upper() == w] for w in wholes}
    pads, split = [], []
    for w in wholes:
        size = int(np.prod(blocks[w], initial=1))
        rounds = -(-extents[w] // size)
        pads.append(rounds * size - extents[w])
        split += [rounds, *blocks[w]]
    if any(pads):
        x = s.node("Pad", x, s.ints(*([0] * len(wholes)), *pads), s.scalar(0, x))
    if len(split) > len(wholes):
        x = s.reshape(x, split)
    axes: list[tuple[str, int]] = [(w, 0) for w in wholes]
    axes = [p for w in wholes for p in [(w, 0), *((w.lower(), k) for k in range(len(blocks[w])))]]
    counts: dict[str, int] = {}
    permutation = []
    for a, _ in new:
        k = counts.get(a, 0)
        counts[a] = k + 1
        permutation.append(axes.index((a, k)))
    return s.transpose(x, permutation)


@form("meshgrid")
@dataclass(frozen=True)
class Meshgrid(Form):
    """`Reshape` and `Expand` of each vector"""

    def emit(self, s: OnnxSite) -> Any:
        vectors = s.inputs[0]
        grids = []
        for k, (v, t) in enumerate(zip(vectors, s.fields, strict=True)):
            shape = s.static(t)
            axis = k if s.attrs.indexing == "ij" or k > 1 else 1 - k
            if len(shape) < 2:
                axis = k
            form = [1] * len(shape)
            form[axis] = shape[axis]
            grids.append(s.node("Expand", s.reshape(v, form), s.ints(*shape)))
        return tuple(grids)


@form("sliding_window")
@dataclass(frozen=True)
class SlidingWindow(Form):
    """`Gather` with constant positions along each axis, `Transpose`"""

    def emit(self, s: OnnxSite) -> Any:
        x, attrs, rank = s.inputs[0], s.attrs, len(s.tensor(0).shape)
        first = attrs.axis % rank
        windows = [int(w) for w in attrs.window_shape]
        strides = [int(v) for v in attrs.strides]
        shape = s.dims(0)
        # every axis that has windows becomes two: places, then positions inside; both are brought into order at the end
        for k in reversed(range(len(windows))):
            axis = first + k
            window_count = (shape[axis] - windows[k]) // strides[k] + 1
            index = np.arange(window_count)[:, None] * strides[k] + np.arange(windows[k])[None, :]
            x = s.node("Gather", x, s.constant(index, "int64"), axis=axis)
        count = len(windows)
        order = [*range(first), *(first + 2 * k for k in range(count)), *(first + 2 * k + 1 for k in range(count))]
        return s.transpose(x, order)


@form("trilu")
@dataclass(frozen=True)
class Trilu(Form):
    """`Trilu`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, k = s.inputs
        return s.node("Trilu", x, s.cast(k, "int64"), upper=int(bool(s.attrs.upper)))


@form("einsum")
@dataclass(frozen=True)
class Einsum(Form):
    """`Einsum`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        return s.node("Einsum", *s.inputs[0], equation=s.attrs.equation)


@decomposed("`Range` of the number of elements, times the step, plus the start", "arange")
def arange(s: OnnxSite) -> Value:
    """The number of elements is found as in Relay: from whole numbers, if steps are 1 or more and nothing is constant."""
    dtype = s.out.dtype
    start, stop, step = (s.reshape(v, []) for v in s.inputs)
    if s.out.is_static:
        count = s.constant(s.static(s.out)[0], "int64")
    else:
        real = [s.cast(v, "float64") for v in (start, stop, step)]
        if not all(isinstance(e, Constant) for e in (s.attrs.start, s.attrs.stop, s.attrs.step)):
            large = s.compare("GreaterOrEqual", s.node("Abs", real[2]), s.constant(1, "float64"))
            real = [s.where(large, truncated(s, v), v) for v in real]
        count = s.cast(s.node("Ceil", s.div(s.sub(real[1], real[0]), real[2])), "int64")
    steps = s.node("Range", s.constant(0, "int64"), count, s.constant(1, "int64"))
    compute_dtype = start.dtype
    return s.cast(s.add(start, s.mul(step, s.cast(steps, compute_dtype))), dtype)


row(Absent("it lowers to a function of TVM's index maps, which ONNX cannot hold"), "meta_schedule_layout_transform")
