"""Dynamic operators on shapes: `dyn.reshape`, `squeeze`, `expand_dims`, `tile`, `broadcast_to`, `strided_slice`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import TensorType, Type
from ...ir.dims import ANY
from ..base import VOID, DType, Pattern, RelationError, Reporter, operator
from ..shape.slice import require_slice_mode, slice_array, slice_ranges
from ..shapes import product, require_rank, tensor
from .base import Dynamic, ints, number, static_length, unknown_shape, whole


@operator("dyn.reshape", "data", "newshape", pattern=Pattern.INJECTIVE, attrs="ReshapeAttrs", level=3)
@dataclass(frozen=True)
class DynReshape(Dynamic):
    """`reshape` with the codes given by a vector."""

    precision = "follow"

    reshapes = True
    shape_from_data = True

    newshape: tuple[int, ...]
    allowzero: bool = False
    static = "reshape"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and as many `?` as the shape argument, a vector of known length, has elements."""
        data, rank = tensor(types[0], "data"), static_length(types[1], "newshape")
        if data is not None and rank == 0 and isinstance(elements := product(data.shape), int) and elements != 1:
            raise RelationError(f"{data} cannot become a scalar, which is one element")
        return None if data is None or rank is None else unknown_shape(rank, data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"newshape": ints(values[0]), "allowzero": self.allowzero}


@operator("dyn.squeeze", "data", "axes", pattern=Pattern.INJECTIVE, attrs="SqueezeAttrs", level=3)
@dataclass(frozen=True)
class DynSqueeze(Dynamic):
    """`squeeze` with the axes given by a vector."""

    reshapes = True
    shape_from_data = True

    axis: tuple[int, ...] | None = None
    static = "squeeze"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; as many axes less as the axis argument has elements, all `?`."""
        data, count = tensor(types[0], "data"), static_length(types[1], "axes")
        if data is None or count is None:
            return None
        if count > len(data.shape):
            raise RelationError(f"{count} axes cannot be squeezed out of a tensor of rank {len(data.shape)}")
        return unknown_shape(len(data.shape) - count, data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"axis": ints(values[0])}


@operator(
    "dyn.expand_dims",
    "data",
    "axis",
    pattern=Pattern.INJECTIVE,
    attrs="DynExpandDimsAttrs",
    level=3,
    declares_attrs=False,
)
@dataclass(frozen=True)
class DynExpandDims(Dynamic):
    """`expand_dims` with the axis given by a scalar tensor."""

    shape_from_data = True

    num_newaxis: int = 1
    static = "expand_dims"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and shape with `num_newaxis` axes more, all `?`; the axis is an integer scalar."""
        data, axis = tensor(types[0], "data"), tensor(types[1], "axis")
        if data is None or axis is None:
            return None
        require_rank(axis, 0, "axis")
        if self.num_newaxis < 0:
            raise RelationError(f"num_newaxis must not be negative: {self.num_newaxis}")
        return unknown_shape(len(data.shape) + self.num_newaxis, data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"axis": whole(number(values[0])), "num_newaxis": self.num_newaxis}


@operator("dyn.tile", "data", "reps", pattern=Pattern.INJECTIVE, attrs="TileAttrs", level=3)
@dataclass(frozen=True)
class DynTile(Dynamic):
    """`tile` with the repetitions given by a vector."""

    precision = "follow"

    shape_from_data = True

    reps: tuple[int, ...]
    static = "tile"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; as many `?` as the data has axes or `reps` has elements, whichever is more."""
        data, count = tensor(types[0], "data"), static_length(types[1], "reps")
        return None if data is None or count is None else unknown_shape(max(len(data.shape), count), data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"reps": ints(values[0])}


@operator("dyn.broadcast_to", "data", "shape", pattern=Pattern.BROADCAST, attrs="InitOpAttrs", level=4)
@dataclass(frozen=True)
class DynBroadcastTo(Dynamic):
    """`broadcast_to` with the shape given by a vector."""

    precision = "follow"
    narrowed_attribute = "dtype"

    shape_from_data = True

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    static = "broadcast_to"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; as many axes as the shape argument has elements, all `?`."""
        data, rank = tensor(types[0], "data"), static_length(types[1], "shape")
        if data is not None and rank is not None and len(data.shape) > rank:
            raise RelationError(f"{data} has more axes than the {rank} of the shape")
        return None if data is None or rank is None else unknown_shape(rank, data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"shape": ints(values[0])}


@operator(
    "dyn.strided_slice",
    "data",
    "begin",
    "end",
    "strides",
    "slice_mode",
    pattern=Pattern.INJECTIVE,
    attrs="StridedSliceAttrs",
    level=4,
    variadic=True,
)
@dataclass(frozen=True)
class DynStridedSlice(Dynamic):
    """`strided_slice` with the bounds of the first axes given by vectors. A range that ends before it begins is empty."""

    precision = "follow"

    shape_from_data = True

    begin: tuple[int | None, ...] | None
    end: tuple[int | None, ...] | None
    strides: tuple[int | None, ...] | None
    slice_mode: str = "end"
    axes: tuple[int, ...] | None = field(kw_only=True)
    static = "strided_slice"
    moving = (1, 2, 3)

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype and rank; the axes that the vectors begin, end and strides reach are `?`, the others stay."""
        if len(types) != 4:
            raise RelationError(f"4 arguments are needed, not {len(types)}; slice_mode is an attribute")
        require_slice_mode(self.slice_mode)
        data = tensor(types[0], "data")
        lengths = [static_length(t, name) for t, name in zip(types[1:], ("begin", "end", "strides"), strict=True)]
        if data is None or None in lengths:
            return None
        count = max(n for n in lengths if n is not None)
        if count > len(data.shape):
            raise RelationError(
                f"begin, end or strides has {count} elements, but the tensor has rank {len(data.shape)}"
            )
        return TensorType((*(ANY,) * count, *data.shape[count:]), data.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        begin, end, strides = map(ints, values)
        return {"begin": begin, "end": end, "strides": strides, "slice_mode": self.slice_mode, "axes": None}

    def evaluate(self, *args: Any) -> Any:
        data = args[0]
        begin, end, strides = (ints(v) for v in args[1:4])
        return slice_array(data, slice_ranges(data.ndim, begin, end, strides, self.slice_mode, None))
