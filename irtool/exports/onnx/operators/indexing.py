"""Gathering and scattering. Relay brings indices into range; the runtimes of ONNX refuse those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ..dtypes import is_unsigned
from ..form import Form, decomposed, form
from ..graph import Value
from ..site import OnnxSite


def in_range(s: OnnxSite, index: Value, extent: Any, mode: str = "clip") -> Value:
    """Indices along an axis, as `int64` within it."""
    wide = s.cast(index, "int64")
    if isinstance(extent, Value):
        if mode == "wrap":
            return s.node("Mod", wide, extent)
        least = s.node("Min", wide, s.sub(extent, s.constant(1, "int64")))
        return s.node("Max", least, s.constant(0, "int64"))
    known = s.constants.arrays.get(index.name)
    if known is not None and known[0].size and known[0].min() >= 0 and known[0].max() < extent:
        return wide
    if mode == "wrap":
        return s.node("Mod", wide, s.constant(max(int(extent), 1), "int64"))
    if is_unsigned(index.dtype) and index.dtype == "uint64":
        wide = s.cast(s.node("Min", index, s.constant(max(int(extent) - 1, 0), "uint64")), "int64")
    return s.node("Clip", wide, s.constant(0, "int64"), s.constant(max(int(extent) - 1, 0), "int64"))


def extent_of(s: OnnxSite, x: Value, extent: Any, axis: int) -> Any:
    """An extent: the number if it is known, else the value of it."""
    return int(extent) if isinstance(extent, int) else s.node("Gather", s.shape(x), s.constant(axis, "int64"), axis=0)


@form("take")
@dataclass(frozen=True)
class Take(Form):
    """`Clip` of the indices (`Mod` to wrap them), `Gather`; `GatherND` with batch axes"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, index = s.inputs
        attrs, t = s.attrs, s.tensor(0)
        if attrs.axis is None:
            x = s.reshape(x, [-1])
            axis = 0
            extent: Any = int(np.prod(s.dims(0))) if t.is_static else s.node("Size", x, dtype="int64")
        else:
            axis = s.axes(0, [attrs.axis])[0]
            extent = extent_of(s, x, t.shape[axis], axis)
        index = s.cast(index, "int64") if attrs.mode == "fast" else in_range(s, index, extent, attrs.mode)
        batch = attrs.batch_dims % max(len(s.tensor(1).shape), 1) if attrs.batch_dims < 0 else attrs.batch_dims
        if not batch:
            return s.node("Gather", x, index, axis=axis)
        rank, indices = len(t.shape), s.dims(1)
        order = [*range(batch), axis, *(a for a in range(batch, rank) if a != axis)]
        flat = s.reshape(index, [*indices[:batch], -1, 1])
        gathered = s.node("GatherND", s.transpose(x, order), flat, batch_dims=batch)
        shape = s.dims(0)
        rest = [shape[a] for a in order[batch + 1 :]]
        inner = indices[batch:]
        gathered = s.reshape(gathered, [*indices[:batch], *inner, *rest])
        # the axes of the indices stand behind the batch axes; they belong where `axis` was
        before = axis - batch
        count = len(inner)
        out_axes = [
            *range(batch),
            *range(batch + count, batch + count + before),
            *range(batch, batch + count),
            *range(batch + count + before, batch + count + len(rest)),
        ]
        return s.transpose(gathered, out_axes)


@form("gather")
@dataclass(frozen=True)
class Gather(Form):
    """`Clip` of the indices, `GatherElements`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, index = s.inputs
        axis = s.axes(0, [s.attrs.axis])[0]
        extent = extent_of(s, x, s.tensor(0).shape[axis], axis)
        return s.node("GatherElements", x, in_range(s, index, extent), axis=axis)


@form("gather_nd")
@dataclass(frozen=True)
class GatherND(Form):
    """`Transpose` of the index tuples to the last axis, clipped, `GatherND`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, index = s.inputs
        batch = int(s.attrs.batch_dims)
        count, *others = s.tensor(1).shape
        if not isinstance(count, int):
            s.refuse("how many numbers an index tuple has must be known")
        if not count:
            return s.node("Expand", x, s.ints(*s.static(s.out)))
        tuples = s.transpose(s.cast(index, "int64"), [*range(1, len(others) + 1), 0])
        extents = s.tensor(0).shape[batch : batch + count]
        known = [e for e in extents if isinstance(e, int)]
        if len(known) == count:
            last = s.constant(np.array([max(e - 1, 0) for e in known]), "int64")
        else:
            last = s.sub(s.slice(s.shape(x), [batch], [batch + count], [0]), s.constant(1, "int64"))
        return s.node("GatherND", x, tuples_up_to(s, tuples, last), batch_dims=batch or None)


def tuples_up_to(s: OnnxSite, tuples: Value, last: Value) -> Value:
    """Index tuples along the last axis, each number within its extent, of which `last` has the last number."""
    return s.node("Max", s.node("Min", tuples, last), s.constant(0, "int64"))


@decomposed("indices broadcast, clipped and joined, `GatherND`", "adv_index")
def adv_index(s: OnnxSite) -> Value:
    x, *indices = s.inputs[0]
    data, *types = s.type_fields(0)
    shape = np.broadcast_shapes(*(s.static(t) for t in types))
    extents = s.static(data)
    parts = [
        s.node(
            "Expand", s.unsqueeze(s.reshape(in_range(s, i, e), s.static(t)), len(t.shape)), s.ints(*_lead(shape, t), 1)
        )
        for i, t, e in zip(indices, types, extents, strict=False)
    ]
    return s.node("GatherND", x, s.concat(parts, len(shape)))


def _lead(shape: Sequence[int], t: Any) -> list[int]:
    return [int(d) for d in shape]


_MEETINGS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@form("scatter", "scatter_add", "scatter_elements")
@dataclass(frozen=True)
class Scatter(Form):
    """`ScatterElements`; the mean as the sum divided by the count"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = "an index out of range is refused while running; Relay writes nothing there"

    def emit(self, s: OnnxSite) -> Any:
        x, index, updates = s.inputs
        axis = s.axes(0, [s.attrs.axis])[0]
        if (
            not s.tensor(1).is_static or s.tensor(1).shape != s.tensor(2).shape
        ):  # elements beyond the indices are not read
            axes = s.ints(*range(len(s.tensor(1).shape)))
            updates = s.node("Slice", updates, s.ints(*([0] * len(s.tensor(1).shape))), s.shape(index), axes)
        how = s.attrs.meeting
        index = s.cast(index, "int64")
        if how == "mean":
            total = s.node("ScatterElements", x, index, updates, axis=axis, reduction="add")
            one = s.node("Expand", s.scalar(1, x), s.shape(x))
            ones = s.node("Expand", s.scalar(1, x), s.shape(updates))
            return s.div(total, s.node("ScatterElements", one, index, ones, axis=axis, reduction="add"))
        return s.node("ScatterElements", x, index, updates, axis=axis, reduction=_MEETINGS[how])


@form("scatter_nd")
@dataclass(frozen=True)
class ScatterND(Form):
    """`Transpose` of the index tuples to the last axis, `ScatterND`"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = "an index out of range is refused while running; index tuples without numbers have no form"

    def emit(self, s: OnnxSite) -> Any:
        x, index, updates = s.inputs
        if s.attrs.mode not in _MEETINGS:
            s.refuse(f"ScatterND has no reduction {s.attrs.mode}")
        count, *inner = s.tensor(1).shape
        if not isinstance(count, int) or not count:
            s.refuse("index tuples have no numbers, or an unknown number of them")
        tuples = s.transpose(s.cast(index, "int64"), [*range(1, len(inner) + 1), 0])
        shape = (*inner, *s.tensor(0).shape[count:])
        known = [d for d in shape if isinstance(d, int)]
        if s.tensor(2).shape != shape and len(known) == len(shape):
            updates = s.reshape(updates, known)
        return s.node("ScatterND", x, tuples, updates, reduction=_MEETINGS[s.attrs.mode])


@form("argwhere")
@dataclass(frozen=True)
class Argwhere(Form):
    """`NonZero`, `Transpose`, `Cast`"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        if not s.tensor(0).shape:
            s.refuse("of a scalar ONNX and Relay give results of different shapes")
        return s.cast(s.transpose(s.node("NonZero", x, dtype="int64"), [1, 0]), s.out.dtype)


@decomposed("`Mod` and division by the extents, one row for each, `Concat`", "unravel_index")
def unravel_index(s: OnnxSite) -> Value:
    rest, shape = (s.cast(v, "int64") for v in s.inputs)
    rows: list[Value] = []
    for k in reversed(range(s.dims(1)[0])):
        extent = s.reshape(s.slice(shape, [k], [k + 1], [0]), [])
        part = s.node("Mod", rest, extent)
        rows.append(s.unsqueeze(part, 0))
        rest = s.div(s.sub(rest, part), extent)
    if not rows:
        s.refuse("the shape has no extents")
    return s.cast(s.concat(rows[::-1], 0), s.out.dtype)


@decomposed("`GreaterOrEqual` of constant steps, `Where`", "sequence_mask")
def sequence_mask(s: OnnxSite) -> Value:
    x, length = s.inputs
    axis, rank = s.axes(0, [s.attrs.axis])[0], len(s.tensor(0).shape)
    count = s.dims(0)[axis]
    steps = s.constant(np.arange(count).reshape([-1, *[1] * (rank - 1 - axis)]), "int64")
    valid = s.cast(length, "int64")
    if len(s.tensor(1).shape):
        valid = s.unsqueeze(valid, *range(1, rank - (1 - axis))) if rank - (1 - axis) > 1 else valid
    outside = s.compare("GreaterOrEqual", steps, valid)
    return s.where(outside, s.scalar(s.attrs.mask_value, x), x)


@decomposed("`ScatterND` of the elements of the diagonals at constant places", "matrix_set_diag")
def matrix_set_diag(s: OnnxSite) -> Value:
    x, diagonal = s.inputs
    attrs = s.attrs
    *lead, rows, columns = s.dims(0)
    size, longest = rows * columns, s.dims(1)[-1]
    positions, sources = [], []
    for k in range(attrs.k1, attrs.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = longest - length if right and attrs.k1 != attrs.k2 else 0
        line = 0 if attrs.k1 == attrs.k2 else (attrs.k2 - k) * longest
        for i in range(length):
            positions.append((i + max(-k, 0)) * columns + i + max(k, 0))
            sources.append(line + min(max(i + start, 0), longest - 1))
    batch = int(np.prod(lead, initial=1))
    values = s.node("Gather", s.reshape(diagonal, [batch, -1]), s.ints(*sources), axis=1)
    index = s.node("Expand", s.ints(*positions), s.ints(batch, len(positions)))
    scattered = s.node("ScatterElements", s.reshape(x, [batch, size]), index, values, axis=1)
    return s.reshape(scattered, [*lead, rows, columns])


@decomposed("`ScatterElements` of positions", "invert_permutation")
def invert_permutation(s: OnnxSite) -> Value:
    (x,) = s.inputs
    count = s.dims(0)[0]
    zeros = s.constant(np.zeros(count), x.dtype)
    return s.node("ScatterElements", zeros, s.cast(x, "int64"), s.constant(np.arange(count), x.dtype), axis=0)


@decomposed("`Equal` with constant positions, `Where`: `OneHot` counts indices below 0 from the end", "one_hot")
def one_hot(s: OnnxSite) -> Value:
    index, on, off = s.inputs
    attrs, rank = s.attrs, len(s.tensor(0).shape)
    axis = attrs.place(rank)
    positions = s.constant(np.arange(attrs.depth).reshape([-1] + [1] * (rank - axis)), "int64")
    hit = s.compare("Equal", s.cast(s.unsqueeze(index, axis), "int64"), positions)
    on, off = (s.reshape(s.cast(v, s.out.dtype), []) for v in (on, off))
    return s.where(hit, on, off)


def known_numbers(s: OnnxSite, v: Value) -> list[int]:
    """The numbers of a constant. Raises NoForm for a value that is computed."""
    if v.name not in s.constants.arrays:
        s.refuse("its bounds must be constants")
    return [int(n) for n in np.ravel(s.constants.arrays[v.name][0])]


@form("strided_set")
@dataclass(frozen=True)
class StridedSet(Form):
    """`ScatterND` at constant places"""

    differs: ClassVar[str] = "bounds that are no constants have no form"

    def emit(self, s: OnnxSite) -> Any:
        x, values, *bounds = s.inputs
        shape = s.dims(0)
        begin, end, strides = (known_numbers(s, b) for b in bounds)
        ranges = []
        for i, extent in enumerate(shape):
            first, last, step = (n[i] if i < len(n) else None for n in (begin, end, strides))
            ranges.append(range(*slice(first, last, step).indices(extent)))
        positions = np.stack(np.meshgrid(*ranges, indexing="ij"), -1)
        return s.node("ScatterND", x, s.constant(positions, "int64"), values)


@decomposed("bisection, as many steps as the length of a row needs: `GatherElements`, `Less`, `Where`", "searchsorted")
def searchsorted(s: OnnxSite) -> Value:
    rows, values = s.inputs
    shape, count = s.dims(1), s.dims(0)[-1]
    rank = len(shape)
    if not count or not rank:
        s.refuse("a row is empty, or there is but one value")
    if len(s.dims(0)) == 1:
        flat, width = s.reshape(values, [-1]), 1
        low = s.constant(np.zeros(int(np.prod(shape))), "int64")
    else:
        flat, width = values, rank
        low = s.constant(np.zeros(shape), "int64")
    high = s.add(low, s.constant(count, "int64"))
    for _ in range(count.bit_length()):
        middle = s.div(s.add(low, high), s.constant(2, "int64"))
        in_range = s.node("Min", middle, s.constant(count - 1, "int64"))
        seen = s.node("GatherElements", rows, in_range, axis=width - 1)
        before = s.compare("LessOrEqual" if s.attrs.right else "Less", seen, flat)
        before = s.node("And", before, s.compare("Less", low, high))
        low = s.where(before, s.add(middle, s.constant(1, "int64")), low)
        high = s.where(before, high, middle)
    return s.cast(s.reshape(low, shape), s.out.dtype)
