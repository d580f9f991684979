"""Operators that read the elements that indices name.

None of them reads outside of its tensor: an index out of range is clipped to it (`take` in mode `wrap` wraps it round),
in the reference and in generated code alike. TVM leaves such an index undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.dims import Dim, is_number
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..relations import broadcast_shape
from ..shape.reshape import unflatten
from ..shapes import normalize_axis, require_compatible, tensor, tensor_fields
from ..typical import below, below_all, extent_of
from .bounds import clip_indices, require_places, wrap_indices


def require_integers(indices: TensorType, what: str = "indices") -> None:
    """RelationError unless the tensor holds signed or unsigned integers."""
    if not indices.dtype.startswith(("int", "uint")):
        raise RelationError(f"{what} must hold integers, not {indices.dtype}")


@operator("take", "data", "indices", pattern=Pattern.INJECTIVE, attrs="TakeAttrs", level=3)
@dataclass(frozen=True)
class Take(Operator):
    """The elements of `data` at `indices`: along `axis`, or of the flattened tensor if `axis` is None.

    The first `batch_dims` axes of both are matched with each other. `mode` says what becomes of an index out of range:
    `clip` and `fast` take the nearest element, `wrap` counts on from the other end.
    """

    precision = "follow"

    batch_dims: int = 0
    axis: int | None = None
    mode: str = "clip"

    one_dtype = ("data", "result")

    def places(self, data_rank: int, indices_rank: int) -> tuple[int, int]:
        """`axis` and `batch_dims` counted from the front; RelationError where they are out of range."""
        assert self.axis is not None
        axis = normalize_axis(self.axis, data_rank)
        batch = self.batch_dims + indices_rank if self.batch_dims < 0 else self.batch_dims
        if not 0 <= batch <= indices_rank:
            raise RelationError(f"batch_dims {self.batch_dims} is out of range for indices of rank {indices_rank}")
        if batch > axis:
            raise RelationError(f"batch_dims {self.batch_dims} is more than axis {self.axis}")
        return axis, batch

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below(extent_of(types[0], self.axis)))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the shape of the indices takes the place of `axis`, or of all axes without one."""
        data, indices = tensor(types[0], "data"), tensor(types[1], "indices")
        if data is None or indices is None:
            return None
        require_integers(indices)
        if self.mode not in ("clip", "wrap", "fast"):
            raise RelationError(f'mode is "{self.mode}"; it can be "clip", "wrap" or "fast"')
        if self.axis is None:
            require_places(reporter, data.shape, indices.shape, "data")
            return TensorType(indices.shape, data.dtype)
        axis, batch = self.places(len(data.shape), len(indices.shape))
        for i in range(batch):
            require_compatible(data.shape[i], indices.shape[i], f"batch axis {i} of data and indices")
        shape = (*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :])
        require_places(reporter, data.shape[axis : axis + 1], shape, f"axis {axis} of data")
        return TensorType(shape, data.dtype)

    def evaluate(self, data: Any, indices: Any) -> Any:
        if self.axis is None:
            return data.reshape(-1)[self._bring_in(indices, data.size)]
        axis, batch = self.places(data.ndim, indices.ndim)
        positions = self._bring_in(indices, data.shape[axis])
        if not batch:
            return np.take(data, positions, axis)
        inner = indices.ndim - batch
        rank = axis + inner + data.ndim - axis - 1
        place = list(range(batch)) + list(range(axis, axis + inner))
        full = positions.reshape([positions.shape[place.index(a)] if a in place else 1 for a in range(rank)])
        source = []
        for a in range(data.ndim):
            if a == axis:
                source.append(full)
                continue
            to = a if a < axis else a + inner - 1
            source.append(np.arange(data.shape[a]).reshape([-1 if b == to else 1 for b in range(rank)]))
        return data[tuple(source)]

    def _bring_in(self, indices: Any, extent: int) -> Any:
        return wrap_indices(indices, extent) if self.mode == "wrap" else clip_indices(indices, extent)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices = inputs

        bring_in = te.wrap_index if self.mode == "wrap" else te.clip_index
        if self.axis is None:
            size = 1
            for d in data.shape:
                size = size * d

            def flat(*i: Any) -> Any:
                return data[unflatten(bring_in(indices[i], size), data.shape) if data.shape else ()]

            return te.compute(out_type.shape, flat, name="T_take", tag="injective")

        axis, batch = self.places(len(data.shape), len(indices.shape))
        inner = len(indices.shape) - batch

        def element(*i: Any) -> Any:
            index = indices[(*i[:batch], *i[axis : axis + inner])]
            return data[(*i[:axis], bring_in(index, data.shape[axis]), *i[axis + inner :])]

        return te.compute(out_type.shape, element, name="T_take", tag="injective")


@operator("gather", "data", "indices", pattern=Pattern.INJECTIVE, attrs="GatherAttrs", level=3)
@dataclass(frozen=True)
class Gather(Operator):
    """For each element of `indices`, the element of `data` at its position, with that index in place of the one along `axis`."""

    axis: int | None = None

    one_dtype = ("data", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below(extent_of(types[0], self.axis)))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and the indices' shape; both have one rank, and agree but along `axis`."""
        data, indices = tensor(types[0], "data"), tensor(types[1], "indices")
        if data is None or indices is None:
            return None
        if not indices.dtype.startswith("int"):
            raise RelationError(f"indices must hold signed integers, not {indices.dtype}")
        if self.axis is None:
            raise RelationError("axis must be given")
        if len(data.shape) != len(indices.shape):
            raise RelationError(f"data has rank {len(data.shape)}, but indices have rank {len(indices.shape)}")
        axis = normalize_axis(self.axis, len(data.shape))
        for i, (d, n) in enumerate(zip(data.shape, indices.shape, strict=True)):
            if i != axis:
                require_compatible(n, d, f"axis {i} of indices and data")
            elif isinstance(n, int) and n < 1:
                raise RelationError(f"axis {i} of indices is {n}; it must be at least 1")
        require_places(reporter, data.shape[axis : axis + 1], indices.shape, f"axis {axis} of data")
        return TensorType(indices.shape, data.dtype)

    def evaluate(self, data: Any, indices: Any) -> Any:
        assert self.axis is not None
        positions = clip_indices(indices, data.shape[self.axis])
        return np.take_along_axis(data, positions, self.axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices = inputs
        assert self.axis is not None
        axis = self.axis % len(data.shape)
        return te.compute(
            out_type.shape,
            lambda *i: data[(*i[:axis], te.clip_index(indices[i], data.shape[axis]), *i[axis + 1 :])],
            name="gather",
            tag="injective",
        )


@operator("gather_nd", "data", "indices", pattern=Pattern.INJECTIVE, attrs="GatherNDAttrs", level=3)
@dataclass(frozen=True)
class GatherND(Operator):
    """The slices of `data` at given index tuples, which run along axis 0 of `indices`.

    With `batch_dims` b, the first b axes of `data` are matched with axes 1 … b of `indices` instead of being indexed.
    `index_rank` says how long the tuples are at most, where the type does not.
    """

    batch_dims: int = 0
    index_rank: int | None = None

    one_dtype = ("data", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below_all(types[0], types[1], self.batch_dims))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; the axes behind the first of the indices, then those of the data that no index tuple
        reaches.
        """
        data, indices = tensor(types[0], "data"), tensor(types[1], "indices")
        if data is None or indices is None:
            return None
        require_integers(indices)
        if not indices.shape or not is_number(indices.shape[0]):
            raise RelationError(f"axis 0 of indices must be a number, the length of the index tuples, not {indices}")
        count = int(indices.shape[0])
        if not 0 <= self.batch_dims <= len(indices.shape) - 1:
            raise RelationError(f"batch_dims {self.batch_dims} is out of range for indices of type {indices}")
        if count + self.batch_dims > len(data.shape):
            raise RelationError(
                f"index tuples of {count} behind {self.batch_dims} batch axes do not fit data of rank {len(data.shape)}"
            )
        for i in range(self.batch_dims):
            require_compatible(
                data.shape[i], indices.shape[i + 1], f"batch axis {i} of data and axis {i + 1} of indices"
            )
        shape = (*indices.shape[1:], *data.shape[count + self.batch_dims :])
        require_places(reporter, data.shape[self.batch_dims : self.batch_dims + count], shape, "data")
        return TensorType(shape, data.dtype)

    def evaluate(self, data: Any, indices: Any) -> Any:
        batch, count = self.batch_dims, indices.shape[0]
        inner = indices.shape[1:]
        source = [
            np.arange(data.shape[b]).reshape([-1 if a == b else 1 for a in range(len(inner))]) for b in range(batch)
        ]
        for k in range(count):
            source.append(clip_indices(indices[k], data.shape[batch + k]))
        if not source:
            return np.broadcast_to(data, (*inner, *data.shape)).copy()
        return data[tuple(np.broadcast_to(i, inner) for i in source)]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices = inputs
        batch, count, inner = self.batch_dims, int(indices.shape[0]), len(indices.shape) - 1

        def element(*i: Any) -> Any:
            tuple_ = [te.clip_index(indices[(k, *i[:inner])], data.shape[batch + k]) for k in range(count)]
            return data[(*i[:batch], *tuple_, *i[inner:])]

        return te.compute(out_type.shape, element, name="gather_nd", tag="injective")


@operator("adv_index", "inputs", pattern=Pattern.INJECTIVE, level=3)
@dataclass(frozen=True)
class AdvancedIndex(Operator):
    """`inputs[0]` indexed along its first axes by the remaining fields, which broadcast against each other."""

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        if not isinstance(types[0], TupleType):
            return ()
        data, *indices = types[0].fields
        return ([hint, *(below(extent_of(data, n)) for n in range(len(indices)))],)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The indices, integers, broadcast against each other; their shape takes the place of the data's first axes."""
        if not isinstance(types[0], TupleType):
            tensor_fields(types[0])
            return None
        fields = tensor_fields(types[0])
        if fields is None:
            return None
        if len(fields) < 2:
            raise RelationError("a tensor and at least one index tensor are needed")
        data, *indices = fields
        if len(indices) > len(data.shape):
            raise RelationError(f"{len(indices)} index tensors are too many for data of rank {len(data.shape)}")
        shape: tuple[Dim, ...] = indices[0].shape
        for index in indices:
            require_integers(index)
            shape = broadcast_shape(shape, index.shape)
        result = (*shape, *data.shape[len(indices) :])
        require_places(reporter, data.shape[: len(indices)], result, "the tensor")
        return TensorType(result, data.dtype)

    def evaluate(self, inputs: Sequence[Any]) -> Any:
        data, *indices = inputs
        return data[tuple(clip_indices(x, d) for x, d in zip(indices, data.shape, strict=False))]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, *indices = inputs
        rank = max(len(x.shape) for x in indices)

        def element(*i: Any) -> Any:
            positions = []
            for x, extent in zip(indices, data.shape, strict=False):
                own = i[rank - len(x.shape) : rank]
                index = x[tuple(0 if d == 1 else k for k, d in zip(own, x.shape, strict=True))]
                positions.append(te.clip_index(index, extent))
            return data[(*positions, *i[rank:])]

        return te.compute(out_type.shape, element, name="adv_index", tag="injective")
