"""Operators that put tensors together, and that take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.dims import ANY, Dim, plain
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import require_dtype
from ..shapes import (
    compatible,
    floordiv,
    floormod,
    maximum,
    mul,
    normalize_axis,
    require_number,
    sub,
    sum_of,
    tensor,
    tensor_fields,
)
from .partly_known import joined_known, split_known, stacked_known


def _require_fields(fields: Sequence[TensorType]) -> TensorType:
    """The first field; RelationError unless there is one and all agree with it in rank and dtype."""
    if not fields:
        raise RelationError("at least one tensor is needed")
    first = fields[0]
    for i, f in enumerate(fields):
        if len(f.shape) != len(first.shape):
            raise RelationError(f"tensor 0 has rank {len(first.shape)}, but tensor {i} has rank {len(f.shape)}")
        require_dtype(first, f)
    return first


def concatenate_types(fields: Sequence[TensorType], axis: int) -> TensorType:
    """The type of the concatenation along `axis`. RelationError where the tensors do not fit.

    Where the joined axis is known, another axis is known only if it is in every tensor; where it is not, the axis is
    taken from any tensor that knows it.
    """
    first = _require_fields(fields)
    positive_axis = normalize_axis(axis, len(first.shape))
    joined = sum_of(f.shape[positive_axis] for f in fields)
    shape: list[Dim] = []
    for i in range(len(first.shape)):
        if i == positive_axis:
            shape.append(joined)
            continue
        known = [f.shape[i] for f in fields if f.shape[i] is not ANY]
        for d in known:
            if not compatible(known[0], d):
                raise RelationError(f"the tensors differ in axis {i}, which is not concatenated: {known[0]} and {d}")
        shape.append(known[0] if known and (len(known) == len(fields) or joined is ANY) else ANY)
    return TensorType(tuple(shape), first.dtype)


@operator("concatenate", "data", pattern=Pattern.INJECTIVE, attrs="ConcatenateAttrs", level=1)
@dataclass(frozen=True)
class Concatenate(Operator):
    """The tensors of a tuple one after the other along `axis`."""

    precision = "follow"

    axis: int = 0

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Tensors of one dtype and rank that differ along `axis` at most; their extents there are added."""
        fields = tensor_fields(types[0])
        return None if fields is None else concatenate_types(fields, self.axis)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return joined_known(args, out, self.axis)

    def evaluate(self, data: Sequence[Any]) -> Any:
        return np.concatenate(data, self.axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        axis = normalize_axis(self.axis, len(inputs[0].shape))
        starts = [0]
        for x in inputs:
            starts.append(starts[-1] + x.shape[axis])

        def element(*i: Any) -> Any:
            def part(k: int) -> Any:
                return inputs[k][(*i[:axis], i[axis] - starts[k], *i[axis + 1 :])]

            return _at_place(i[axis], starts, part, 0, len(inputs))

        return te.compute(out_type.shape, element, name="T_concat", tag="injective")


def _at_place(place: Any, starts: Sequence[int], part: Callable[[int], Any], low: int, high: int) -> Any:
    """`at(k)` of the k in `low` … `high - 1` for which `starts[k] <= place < starts[k + 1]`, found by halving."""
    if high - low == 1:
        return part(low)
    middle = (low + high + 1) // 2
    left, right = _at_place(place, starts, part, low, middle), _at_place(place, starts, part, middle, high)
    return te.if_then_else(place >= starts[middle], right, left)


@operator("stack", "data", pattern=Pattern.INJECTIVE, attrs="StackAttrs", level=3)
@dataclass(frozen=True)
class Stack(Operator):
    """The tensors of a tuple, all of one shape, side by side along a new `axis`."""

    axis: int = 0

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Tensors of one type, with an axis of their number at `axis`."""
        fields = tensor_fields(types[0])
        if fields is None:
            return None
        first = _require_fields(fields)
        axis = normalize_axis(self.axis, len(first.shape) + 1)
        for f in fields:
            for i, (a, b) in enumerate(zip(first.shape, f.shape, strict=True)):
                if not compatible(a, b):
                    raise RelationError(f"the tensors differ in axis {i}: {a} and {b}")
        return TensorType((*first.shape[:axis], len(fields), *first.shape[axis:]), first.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return stacked_known(args, out, self.axis)

    def evaluate(self, data: Sequence[Any]) -> Any:
        return np.stack(data, self.axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        axis = normalize_axis(self.axis, len(inputs[0].shape) + 1)

        def element(*i: Any) -> Any:
            rest = (*i[:axis], *i[axis + 1 :])
            return _at_place(i[axis], range(len(inputs)), lambda k: inputs[k][rest], 0, len(inputs))

        return te.compute(out_type.shape, element, name="T_stack", tag="injective")


_MOST_PARTS = 1_000_000
"""A tuple's type is written out field by field."""


@operator("split", "data", pattern=Pattern.INJECTIVE, attrs="SplitAttrs", level=3)
@dataclass(frozen=True)
class Split(Operator):
    """The tensor split along `axis`, into a number of equal parts or at the given indices (ascending)."""

    precision = "follow"

    indices_or_sections: int | tuple[int, ...]
    axis: int = 0

    one_dtype = ("data", "result")

    def cuts(self, extent: int) -> list[int]:
        """The first index of every part, and the extent."""
        if isinstance(self.indices_or_sections, tuple):
            return [0, *map(plain, self.indices_or_sections), extent]
        part = extent // self.indices_or_sections
        return [k * part for k in range(self.indices_or_sections)] + [extent]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of parts: the data's type cut along `axis` into equal sections or at the indices."""
        data = tensor(types[0])
        if data is None:
            return None
        axis = normalize_axis(self.axis, len(data.shape))
        whole = data.shape[axis]
        is_equal = isinstance(self.indices_or_sections, int)
        parts = self._equal_parts(whole) if is_equal else self._parts(whole, reporter)
        return TupleType(tuple(TensorType((*data.shape[:axis], p, *data.shape[axis + 1 :]), data.dtype) for p in parts))

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return split_known(args, out, self.indices_or_sections, self.axis)

    def _equal_parts(self, whole: Dim) -> list[Dim]:
        sections = self.indices_or_sections
        assert isinstance(sections, int)
        require_number(sections, "the number of parts")
        if sections < 1:
            raise RelationError(f"a tensor cannot be split into {sections} parts")
        if sections > _MOST_PARTS:
            raise RelationError(f"a tuple of {sections} parts is more than the {_MOST_PARTS} that fit a type")
        if not compatible(floormod(whole, sections), 0):
            raise RelationError(f"axis {self.axis} is {whole}, which {sections} equal parts do not divide")
        return [floordiv(whole, sections) for _ in range(sections)]

    def _parts(self, whole: Dim, reporter: Reporter) -> list[Dim]:
        assert isinstance(self.indices_or_sections, tuple)
        parts: list[Dim] = []
        begin = 0
        for index in map(plain, self.indices_or_sections):
            if index <= begin:
                raise RelationError(f"the indices {list(self.indices_or_sections)} do not ascend from 1")
            parts.append(index - begin)
            begin = index
        rest = sub(whole, begin)
        message = f"index {begin} is not within axis {self.axis}, which is {whole}"
        reporter.require_elements((rest,), (), message)
        # Memory is planned for any length; a run without the elements ends before the part is computed.
        return [*parts, maximum(rest, 0) if isinstance(rest, int) else rest]

    def evaluate(self, data: Any) -> Any:
        axis = normalize_axis(self.axis, data.ndim)
        if isinstance(self.indices_or_sections, int):
            self._equal_parts(data.shape[axis])
        cuts = self.cuts(data.shape[axis])
        return tuple(np.split(data, cuts[1:-1], axis))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        axis = normalize_axis(self.axis, len(data.shape))

        def part(start: int, type: Any) -> Any:
            return te.compute(
                type.shape,
                lambda *i: data[(*i[:axis], i[axis] + start, *i[axis + 1 :])],
                name="T_split_sections",
                tag="injective",
            )

        return [part(s, t) for s, t in zip(self.cuts(data.shape[axis]), out_type.fields, strict=False)]


@operator("tile", "data", pattern=Pattern.BROADCAST, attrs="TileAttrs", level=3)
@dataclass(frozen=True)
class Tile(Operator):
    """The tensor repeated as a whole `reps[i]` times along axis i; the shorter of shape and `reps` is extended by leading 1s."""

    precision = "follow"

    reps: tuple[int, ...]

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; extents times `reps`, the shorter of both filled up with ones in front."""
        data = tensor(types[0])
        if data is None:
            return None
        for r in self.reps:
            if isinstance(r, int) and r < 1:
                raise RelationError(f"reps {list(self.reps)} contains {r}; a tensor is repeated at least once")
        rank = max(len(data.shape), len(self.reps))
        shape: tuple[Dim, ...] = (*(1,) * (rank - len(data.shape)), *data.shape)
        reps = (*(1,) * (rank - len(self.reps)), *self.reps)
        return TensorType(tuple(_times(d, r) for d, r in zip(shape, reps, strict=True)), data.dtype)

    def evaluate(self, data: Any) -> Any:
        return np.tile(data, self.reps)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        ahead = len(out_type.shape) - len(data.shape)
        return te.compute(
            out_type.shape,
            lambda *i: data[
                tuple(k if d == n else k % d for k, d, n in zip(i[ahead:], data.shape, out_type.shape[ahead:]))
            ],
            name="T_tile",
            tag="broadcast",
        )


def _times(dim: Dim, times: Dim) -> Dim:
    return mul(dim, times) if isinstance(dim, int) else ANY


@operator("repeat", "data", pattern=Pattern.BROADCAST, attrs="RepeatAttrs", level=3)
@dataclass(frozen=True)
class Repeat(Operator):
    """Each element repeated `repeats` times along `axis`."""

    repeats: int
    axis: int | None = None

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the extent along `axis` times `repeats`."""
        data = tensor(types[0])
        if data is None:
            return None
        if self.repeats < 1:
            raise RelationError(f"repeats is {self.repeats}; an element is repeated at least once")
        if self.axis is None:
            raise RelationError("axis must be given")
        axis = normalize_axis(self.axis, len(data.shape))
        return TensorType(
            (*data.shape[:axis], mul(data.shape[axis], self.repeats), *data.shape[axis + 1 :]), data.dtype
        )

    def evaluate(self, data: Any) -> Any:
        return np.repeat(data, self.repeats, self.axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        assert self.axis is not None
        axis = normalize_axis(self.axis, len(data.shape))
        return te.compute(
            out_type.shape,
            lambda *i: data[(*i[:axis], i[axis] // self.repeats, *i[axis + 1 :])],
            name="T_repeat",
            tag="broadcast",
        )


@operator("meshgrid", "data", pattern=Pattern.INJECTIVE, attrs="MeshgridAttrs", level=3)
@dataclass(frozen=True)
class Meshgrid(Operator):
    """The coordinate grids that a tuple of vectors (or scalars) spans; with `indexing="xy"` the first two axes swap."""

    indexing: str = "ij"

    one_dtype = ("data", "result")

    def axis_of(self, k: int, count: int) -> int:
        """The axis along which grid `k` of `count` varies."""
        return 1 - k if self.indexing == "xy" and count >= 2 and k < 2 else k

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of as many tensors as there are vectors or scalars, all of one dtype, each with the extents of all."""
        fields = tensor_fields(types[0])
        if fields is None:
            return None
        if not fields:
            raise RelationError("at least one tensor is needed")
        if self.indexing not in ("ij", "xy"):
            raise RelationError(f'indexing is "{self.indexing}"; it can be "ij" or "xy"')
        for i, f in enumerate(fields):
            require_dtype(fields[0], f)
            if len(f.shape) > 1:
                raise RelationError(f"tensor {i} must be a vector or a scalar, not {f}")
        extents: list[Dim] = [f.shape[0] if f.shape else 1 for f in fields]
        shape = tuple(extents[self.axis_of(k, len(extents))] for k in range(len(extents)))
        return TupleType(tuple(TensorType(shape, fields[0].dtype) for _ in fields))

    def evaluate(self, data: Sequence[Any]) -> Any:
        return tuple(np.meshgrid(*data, indexing="xy" if self.indexing == "xy" else "ij"))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        def grid(k: int) -> Any:
            axis = self.axis_of(k, len(inputs))
            x = inputs[k]
            shape = out_type.fields[k].shape
            return te.compute(shape, lambda *i: x[i[axis]] if x.shape else x[()], name="meshgrid", tag="injective")

        return [grid(k) for k in range(len(inputs))]
