"""Dynamic operators that make tensors: `dyn.zeros`, `ones`, `full`, `one_hot`, `sparse_to_dense`, and `dyn.topk`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import Constant, MissingData, TensorType, TupleType, Type
from ...ir.dims import ANY
from ..base import VOID, DType, Pattern, RelationError, Reporter, operator
from ..shapes import normalize_axis, require_rank, require_scalar, tensor
from .base import Dynamic, all_known, ints, number, static_length, unknown_shape, whole


class _Fill(Dynamic):
    shape: tuple[int, ...] | None
    dtype: DType
    moving = (0,)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`dtype` and as many `?` as the shape argument has elements."""
        rank = static_length(types[0], "shape")
        return None if rank is None else unknown_shape(rank, self.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"shape": ints(values[0]), "dtype": self.dtype}


@operator("dyn.zeros", "shape", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class DynZeros(_Fill):
    """`zeros` with the shape given by a vector."""

    narrowed_attribute = "dtype"
    layout_rule = ""

    shape_from_data = True

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    static = "zeros"


@operator("dyn.ones", "shape", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class DynOnes(_Fill):
    """`ones` with the shape given by a vector."""

    narrowed_attribute = "dtype"
    layout_rule = ""

    shape_from_data = True

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    static = "ones"


@operator("dyn.full", "fill_value", "shape", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class DynFull(Dynamic):
    """`full` with the shape given by a vector."""

    precision = "follow"
    narrowed_attribute = "dtype"
    layout_rule = ""

    shape_from_data = True

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    static = "full"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A scalar gives `dtype` (or its own) and as many `?` as the shape argument has elements."""
        value, rank = tensor(types[0], "fill_value"), static_length(types[1], "shape")
        if value is None or rank is None:
            return None
        require_rank(value, 0, "fill_value")
        return unknown_shape(rank, self.dtype or value.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"shape": ints(values[0]), "dtype": self.dtype}


@operator(
    "dyn.one_hot",
    "indices",
    "on_value",
    "off_value",
    "depth",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="OneHotAttrs",
    level=10,
)
@dataclass(frozen=True)
class DynOneHot(Dynamic):
    """`one_hot` with the depth given by a scalar tensor."""

    shape_from_data = True

    depth: int = 1
    axis: int = -1
    dtype: DType = VOID
    static = "one_hot"
    moving = (3,)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`dtype`; the shape of the indices with one axis `?` more at `axis`."""
        indices = tensor(types[0], "indices")
        if indices is None:
            return None
        rank = len(indices.shape)
        axis = rank if self.axis == -1 else self.axis
        if not 0 <= axis <= rank:
            raise RelationError(f"axis {self.axis} is out of range for indices of rank {rank}")
        for t, what in zip(types[1:3], ("on_value", "off_value"), strict=True):
            require_scalar(tensor(t, what), what)
        depth = tensor(types[3], "depth")
        if depth is not None and any(isinstance(d, int) and d != 1 for d in depth.shape):
            raise RelationError(f"depth must be one number, not {depth}")
        return TensorType((*indices.shape[:axis], ANY, *indices.shape[axis:]), self.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"depth": whole(number(values[0])), "axis": self.axis, "dtype": self.dtype}


@operator(
    "dyn.sparse_to_dense",
    "sparse_indices",
    "sparse_values",
    "default_value",
    "output_shape",
    pattern=Pattern.OPAQUE,
    level=3,
)
@dataclass(frozen=True)
class DynSparseToDense(Dynamic):
    """`sparse_to_dense` with the shape given by a vector."""

    layout_rule = "elementwise"

    shape_from_data = True

    static = "sparse_to_dense"
    moving = (3,)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The dtype of the values and as many `?` as the shape argument has elements."""
        tensors = all_known(types, self.arguments)
        rank = static_length(types[3], "output_shape")
        if tensors is None or rank is None:
            return None
        indices, values, default = tensors[:3]
        if not indices.dtype.startswith("int"):
            raise RelationError(f"sparse_indices must hold signed integers, not {indices.dtype}")
        if len(indices.shape) > 2:
            raise RelationError(f"sparse_indices must have rank 0, 1 or 2, not {len(indices.shape)}")
        if len(values.shape) > 1:
            raise RelationError(f"sparse_values must have rank 0 or 1, not {len(values.shape)}")
        require_rank(default, 0, "default_value")
        depth = indices.shape[1] if len(indices.shape) == 2 else 1
        if isinstance(depth, int) and depth != rank:
            raise RelationError(f"sparse_indices {indices} name places on {depth} axes, and output_shape has {rank}")
        return unknown_shape(rank, values.dtype)

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {"output_shape": ints(values[0])}


@operator("dyn.topk", "data", "k", pattern=Pattern.OPAQUE, attrs="TopkAttrs", level=6)
@dataclass(frozen=True)
class DynTopk(Dynamic):
    """`topk` with `k` given by a scalar tensor or a vector of one element."""

    shape_from_data = True

    k: int | None
    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: DType = VOID
    static = "topk"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape with `?` along `axis`: values of the data's dtype, indices of `dtype`, or both as a tuple."""
        data, k = tensor(types[0], "data"), tensor(types[1], "k")
        if data is None or k is None:
            return None
        if len(k.shape) > 1 or (k.shape and k.shape[0] != 1):
            raise RelationError(f"k must be a scalar or a vector of one element, not {k}")
        argument = reporter.argument(1)
        if isinstance(argument, Constant) and not isinstance(argument.data, MissingData):
            value = float(argument.data.reshape(-1)[0])
            if not math.isfinite(value):
                raise RelationError(f"k must be a number, not {value}")
        axis = normalize_axis(self.axis, len(data.shape))
        if self.ret_type not in ("both", "values", "indices"):
            raise RelationError(f'ret_type is "{self.ret_type}"; it can be "both", "values" or "indices"')
        shape = (*data.shape[:axis], ANY, *data.shape[axis + 1 :])
        values, indices = TensorType(shape, data.dtype), TensorType(shape, self.dtype)
        return {"both": TupleType((values, indices)), "values": values, "indices": indices}[self.ret_type]

    def attributes(self, *values: Any) -> dict[str, Any]:
        return {
            "k": whole(number(values[0])),
            "axis": self.axis,
            "ret_type": self.ret_type,
            "is_ascend": self.is_ascend,
            "dtype": self.dtype,
        }
