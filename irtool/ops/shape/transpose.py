"""Operators that permute axes or turn them round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..partial import meet
from ..shapes import normalize_axes, normalize_axis, require_compatible, require_rank, tensor


@operator("transpose", "data", pattern=Pattern.INJECTIVE, attrs="TransposeAttrs", level=3)
@dataclass(frozen=True)
class Transpose(Operator):
    """Axis i of the result is axis `axes[i]` of `data`; the axes in reverse order if `axes` is None."""

    precision = "follow"
    integer_form = "same"

    axes: tuple[int, ...] | None

    one_dtype = ("data", "result")

    def order(self, rank: int) -> tuple[int, ...]:
        """The permutation for a tensor of that rank; RelationError where `axes` is not one."""
        if self.axes is None:
            return tuple(reversed(range(rank)))
        if len(self.axes) != rank:
            raise RelationError(f"axes {list(self.axes)} has {len(self.axes)} elements, but the tensor has rank {rank}")
        return normalize_axes(self.axes, rank)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; its extents in the order of `axes`, or reversed without."""
        data = tensor(types[0])
        if data is None:
            return None
        return TensorType(tuple(data.shape[a] for a in self.order(len(data.shape))), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        if out is None and args[0] is None:
            return list(args), (None,) * len(self.axes) if self.axes else None
        order = self.order(len(out if args[0] is None else args[0]))
        data = meet(args[0], None if out is None else tuple(out[order.index(i)] for i in range(len(out))))
        return [data], None if data is None else tuple(data[a] for a in order)

    def evaluate(self, data: Any) -> Any:
        return np.transpose(data, self.order(data.ndim))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        order = self.order(len(data.shape))
        return te.compute(
            out_type.shape,
            lambda *i: data[tuple(i[order.index(a)] for a in range(len(order)))],
            name="T_transpose",
            tag="injective",
        )


@operator("reverse", "data", pattern=Pattern.INJECTIVE, attrs="ReverseAttrs", level=3)
@dataclass(frozen=True)
class Reverse(Operator):
    """The elements along `axis` in reverse order."""

    axis: int | None = None

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's type; it must have the axis."""
        data = tensor(types[0])
        if data is None:
            return None
        if self.axis is None:
            raise RelationError("axis must be given")
        normalize_axis(self.axis, len(data.shape))
        return data

    def evaluate(self, data: Any) -> Any:
        return np.flip(data, self.axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        assert self.axis is not None
        axis = normalize_axis(self.axis, len(data.shape))
        return te.compute(
            data.shape,
            lambda *i: data[(*i[:axis], data.shape[axis] - 1 - i[axis], *i[axis + 1 :])],
            name="reverse",
            tag="injective",
        )


@operator("reverse_sequence", "data", "seq_lengths", pattern=Pattern.INJECTIVE, attrs="ReverseSequenceAttrs", level=3)
@dataclass(frozen=True)
class ReverseSequence(Operator):
    """The first `seq_lengths[b]` elements along `seq_axis` in reverse order, for each `b` along `batch_axis`.

    A length of 1 or less reverses nothing, one beyond the extent all of it.
    """

    seq_axis: int = 1
    batch_axis: int = 0

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's type; the lengths are a vector of its extent along `batch_axis`."""
        data, lengths = tensor(types[0], "data"), tensor(types[1], "seq_lengths")
        if data is None or lengths is None:
            return None
        require_rank(lengths, 1, "seq_lengths")
        if not lengths.dtype.startswith("int"):
            raise RelationError(f"seq_lengths must hold signed integers, not {lengths.dtype}")
        rank = len(data.shape)
        batch = normalize_axis(self.batch_axis, rank, "batch_axis")
        normalize_axis(self.seq_axis, rank, "seq_axis")
        require_compatible(
            lengths.shape[0], data.shape[batch], f"the length of seq_lengths and the batch axis {batch} of data"
        )
        return data

    def evaluate(self, data: Any, lengths: Any) -> Any:
        seq, batch = self.seq_axis % data.ndim, self.batch_axis % data.ndim
        shape = [1] * data.ndim
        shape[batch] = -1
        length = np.minimum(lengths, data.shape[seq]).reshape(shape)
        steps = np.arange(data.shape[seq]).reshape([-1 if a == seq else 1 for a in range(data.ndim)])
        source = np.where(steps < length, length - 1 - steps, steps)
        return np.take_along_axis(data, np.broadcast_to(source, data.shape), seq)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, lengths = inputs
        rank = len(data.shape)
        seq, batch = self.seq_axis % rank, self.batch_axis % rank

        def element(*i: Any) -> Any:
            length = te.clip_index(lengths[i[batch]], data.shape[seq] + 1)
            source = te.clip_index(te.select(i[seq] < length, length - 1 - i[seq], i[seq]), data.shape[seq])
            return data[(*i[:seq], source, *i[seq + 1 :])]

        return te.compute(data.shape, element, name="reverse_sequence", tag="injective")
