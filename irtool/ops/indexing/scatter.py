"""Operators that write elements where indices say.

A negative index counts from the end. An index out of range writes nothing, in the reference and in generated code alike
(TVM leaves it undefined). Where several elements go to one place, the last in row-major order stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.attributes import ALWAYS_STATED
from ...ir.dims import is_number
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..relations import identity
from ..shapes import normalize_axis, require_compatible, require_rank, tensor
from ..typical import below, below_all, extent_of
from .meeting import MEETINGS, apply_updates, copy_loops, loop_nest, require_meeting
from .take import require_integers


class ScatterAlongAxis(Operator):
    """The common part of scattering along an axis: element i of `updates` goes to place i, but for `indices[i]` along `axis`."""

    precision = "follow"

    axis: int

    @property
    def meeting(self) -> str:
        """The combination of an element with an update: `update`, `add`, …"""
        raise NotImplementedError

    one_shape = ("data", "result")
    one_dtype = ("data", "updates", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below(extent_of(types[0], self.axis)))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of `data`; all three of one rank, `indices` integers and, beside `axis`, no longer than the others."""
        data, indices, updates = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or indices is None or updates is None:
            return None
        require_integers(indices)
        rank = len(data.shape)
        axis = normalize_axis(self.axis, rank)
        require_rank(indices, rank, "indices")
        require_rank(updates, rank, "updates")
        for i, (d, n, u) in enumerate(zip(data.shape, indices.shape, updates.shape, strict=True)):
            if isinstance(n, int) and isinstance(u, int) and u < n:
                raise RelationError(f"axis {i} of updates is {u}, less than the {n} of indices")
            if i != axis and isinstance(n, int) and isinstance(d, int) and d < n:
                raise RelationError(f"axis {i} of indices is {n}, more than the {d} of data")
        return data

    def evaluate(self, data: Any, indices: Any, updates: Any) -> Any:
        out = np.array(data)
        axis = self.axis % data.ndim
        positions = indices.astype(np.int64)
        positions = np.where(positions < 0, positions + data.shape[axis], positions)
        inside = (positions >= 0) & (positions < data.shape[axis])
        place = list(np.indices(indices.shape))
        place[axis] = positions
        to = tuple(p[inside] for p in place)
        values = convert(updates[tuple(slice(0, n) for n in indices.shape)][inside], data.dtype)
        apply_updates(out, to, values, self.meeting)
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices, _ = inputs
        axis = self.axis % len(data.shape)
        extent = data.shape[axis]
        meet = MEETINGS[self.meeting][1]

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, n, u = ins
            (out,) = outs
            copy_loops(ib, x, out)

            def write(i: tuple[Any, ...]) -> None:
                raw = te.cast(n[i], "int64")
                position = ib.let(te.select(raw < 0, raw + extent, raw))
                with ib.if_(te.all(position >= 0, position < extent)):
                    place = (*i[:axis], te.cast(position, "int32"), *i[axis + 1 :])
                    value = te.cast(u[i], data.dtype)
                    ib.store(out, place, meet(out[place], value))

            loop_nest(ib, indices.shape, write)

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name=type(self).name)


@operator(
    "scatter",
    "data",
    "indices",
    "updates",
    pattern=Pattern.OPAQUE,
    attrs="ScatterAttrs",
    level=10,
    declares_attrs=False,
)
@dataclass(frozen=True)
class Scatter(ScatterAlongAxis):
    """`data` with `updates[i]` written to position i, with `indices[i]` in place of the index along `axis`.

    `scatter_elements` takes its place from 0.12 on.
    """

    axis: int = 0

    until = "0.11"
    meeting = "update"


@operator(
    "scatter_add",
    "data",
    "indices",
    "updates",
    pattern=Pattern.OPAQUE,
    attrs="ScatterAddAttrs",
    level=10,
    declares_attrs=False,
)
@dataclass(frozen=True)
class ScatterAdd(ScatterAlongAxis):
    """`data` with `updates[i]` added at position i, with `indices[i]` in place of the index along `axis`.

    `scatter_elements` with `reduction="add"` takes its place from 0.12 on.
    """

    precision = ""

    axis: int = 0

    until = "0.11"
    meeting = "add"


@operator(
    "scatter_elements",
    "data",
    "indices",
    "updates",
    pattern=Pattern.OPAQUE,
    attrs="ScatterElementsAttrs",
    level=3,
    declares_attrs=False,
)
@dataclass(frozen=True)
class ScatterElements(ScatterAlongAxis):
    """`data` with `updates[i]` combined into position i, with `indices[i]` in place of the index along `axis`.

    `reduction` says what becomes of that element: `update` (the update), `add` (the sum), `mul` (the product), `min`,
    `max` (the lesser, the greater), `mean` (half the sum; floating-point data only). Updates come in row-major order.
    """

    axis: int = 0
    reduction: str = "update"

    since = "0.12"

    @property
    def meeting(self) -> str:
        return self.reduction

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of `data`; all three of one rank, `indices` integers and, beside `axis`, no longer than the others.

        `reduction="mean"` wants floating-point data.
        """
        require_meeting(self.reduction, tuple(MEETINGS), "reduction")
        data = tensor(types[0], "data")
        if self.reduction == "mean" and data is not None and "float" not in data.dtype:
            raise RelationError(f'reduction="mean" needs floating-point data, not {data.dtype}')
        return super().relate(types, reporter)


@operator(
    "scatter_nd",
    "data",
    "indices",
    "updates",
    pattern=Pattern.OPAQUE,
    attrs="ScatterNDAttrs",
    level=3,
    declares_attrs=False,
)
@dataclass(frozen=True)
class ScatterND(Operator):
    """`data` with the slices of `updates` written (`mode="update"`) or added (`"add"`) at given index tuples.

    Since 0.12 also multiplied (`"mul"`), or the lesser or greater of both taken (`"min"`, `"max"`), and `update` is the
    default. A tuple stands along axis 0 of `indices`; axes 1 … of `indices` are the first axes of `updates`.
    """

    mode: str = field(default="update", metadata=ALWAYS_STATED)

    one_shape = ("data", "result")
    one_dtype = ("data", "updates", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below_all(types[0], types[1], 0))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of `data`; `updates` has the shape of `indices` without axis 0, then that of the slices of `data`."""
        data, indices, updates = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or indices is None or updates is None:
            return None
        require_integers(indices)
        require_meeting(self.mode, ("update", "add", "mul", "min", "max"), "mode")
        if not indices.shape or not is_number(indices.shape[0]):
            raise RelationError(f"axis 0 of indices must be a number, the length of the index tuples, not {indices}")
        count, inner = int(indices.shape[0]), len(indices.shape) - 1
        if count > len(data.shape):
            raise RelationError(f"index tuples of {count} do not fit data of rank {len(data.shape)}")
        require_rank(updates, inner + len(data.shape) - count, "updates")
        for i in range(inner):
            require_compatible(
                indices.shape[i + 1], updates.shape[i], f"axis {i + 1} of indices and axis {i} of updates"
            )
        for i in range(count, len(data.shape)):
            update_axis = inner + i - count
            require_compatible(
                data.shape[i], updates.shape[update_axis], f"axis {i} of data and axis {update_axis} of updates"
            )
        return data

    def evaluate(self, data: Any, indices: Any, updates: Any) -> Any:
        out = np.array(data)
        count = indices.shape[0]
        positions = indices.reshape(count, math.prod(indices.shape[1:])).astype(np.int64)
        extents = np.array(data.shape[:count], np.int64).reshape(-1, 1)
        positions = np.where(positions < 0, positions + extents, positions)
        inside = ((positions >= 0) & (positions < extents)).all(0)
        values = convert(updates.reshape(positions.shape[1], *data.shape[count:]), data.dtype)
        to = tuple(row[inside] for row in positions)
        if not count:
            whole = out[None]
            for v in values:
                apply_updates(whole, (np.zeros(1, np.int64),), v[None], self.mode)
            return whole[0]
        apply_updates(out, to, values[inside], self.mode)
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices, _ = inputs
        count = int(indices.shape[0])
        meet = MEETINGS[self.mode][1]

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, n, u = ins
            (out,) = outs
            copy_loops(ib, x, out)

            def write(i: tuple[Any, ...]) -> None:
                positions = []
                for k in range(count):
                    raw = te.cast(n[(k, *i)], "int64")
                    positions.append(ib.let(te.select(raw < 0, raw + data.shape[k], raw)))
                inside = [te.all(a >= 0, a < data.shape[k]) for k, a in enumerate(positions)]
                with ib.if_(te.all(*inside)):

                    def write_rest(rest: tuple[Any, ...]) -> None:
                        place = (*[te.cast(a, "int32") for a in positions], *rest)
                        value = te.cast(u[(*i, *rest)], data.dtype)
                        ib.store(out, place, meet(out[place], value))

                    loop_nest(ib, data.shape[count:], write_rest)

            loop_nest(ib, indices.shape[1:], write)

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="scatter_nd")


@operator("invert_permutation", "data", pattern=Pattern.INJECTIVE, level=1)
@dataclass(frozen=True)
class InvertPermutation(Operator):
    """The vector whose element `data[i]` is i; elements whose position is not in `data` are 0."""

    differentiable = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of integers, giving its own type."""
        known = identity(types, reporter)
        if isinstance(known, TensorType):
            require_rank(known, 1, "data")
            require_integers(known, "data")
        return known

    def evaluate(self, data: Any) -> Any:
        out = np.zeros_like(data)
        inside = (data >= 0) & (data < data.size)
        out[data[inside]] = np.arange(data.size, dtype=data.dtype)[inside]
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        extent = out_type.shape[0]

        def program(ib: Any, ins: Any, outs: Any) -> None:
            with ib.for_(extent) as i:
                ib.store(outs[0], (i,), te.const(0, out_type.dtype))
            with ib.for_(extent) as i:
                position = ib.let(te.cast(ins[0][i], "int64"))
                with ib.if_(te.all(position >= 0, position < extent)):
                    ib.store(outs[0], (te.cast(position, "int32"),), te.cast(i, out_type.dtype))

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="invert_permutation")
