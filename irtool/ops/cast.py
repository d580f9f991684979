"""Operators that choose: an element type for a tensor (cast), or a tensor for each element (where)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, Type
from .base import DType, Operator, Pattern, RelationError, Reporter, operator
from .binary import pick
from .conversion import convert
from .dtypes import bits, numpy_dtype
from .partial import broadcast_known
from .relations import broadcast_shape, require_dtype
from .shapes import tensor


def _convert_elements(x: Any, dtype: str) -> Any:
    return te.compute(x.shape, lambda *i: te.cast(x[i], dtype), name="T_cast", tag="elemwise")


@operator("cast", "data", pattern=Pattern.ELEMWISE, attrs="CastAttrs", level=3)
@dataclass(frozen=True)
class Cast(Operator):
    """Each element converted to `dtype`: floats are truncated, integers wrap, and as bool every nonzero value is True."""

    precision = "follow"

    dtype: DType

    one_shape = ("data", "result")

    dtype_attribute = "dtype"

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint,)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape with `dtype`."""
        x = tensor(types[0])
        return x and TensorType(x.shape, self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return convert(x, self.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        return _convert_elements(inputs[0], self.dtype)


@operator("cast_like", "data", "dtype_like", pattern=Pattern.ELEMWISE, level=3)
@dataclass(frozen=True)
class CastLike(Operator):
    """Each element of `data` converted to the dtype of `dtype_like`; its values and shape are not used."""

    precision = "follow"

    one_shape = ("data", "result")
    one_dtype = ("dtype_like", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint,)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape with the dtype of the second argument."""
        x, like = tensor(types[0], "data"), tensor(types[1], "dtype_like")
        return TensorType(x.shape, like.dtype) if x is not None and like is not None else None

    def evaluate(self, x: np.ndarray, like: np.ndarray) -> np.ndarray:
        return convert(x, like.dtype.name)

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        return _convert_elements(inputs[0], inputs[1].dtype)


@operator("reinterpret", "data", pattern=Pattern.ELEMWISE, attrs="CastAttrs", level=3)
@dataclass(frozen=True)
class Reinterpret(Operator):
    """The bits of each element read as another dtype of the same width; a bool is one bit, which no other dtype is."""

    no_gradient = "bits are no number to differentiate"

    dtype: DType

    dtype_attribute = "dtype"

    one_shape = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape with `dtype`, which is as wide as the data's."""
        x = tensor(types[0])
        if x is not None and bits(x.dtype) != bits(self.dtype):
            raise RelationError(f"the bits of {x.dtype} cannot be read as {self.dtype}: the widths differ")
        return x and TensorType(x.shape, self.dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        if x.dtype.itemsize != numpy_dtype(self.dtype).itemsize:
            raise IrError(f"the bits of {x.dtype} cannot be read as {self.dtype}: the widths differ")
        return np.ascontiguousarray(x).reshape(-1).view(numpy_dtype(self.dtype)).reshape(x.shape)

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        (x,) = inputs
        return te.compute(x.shape, lambda *i: te.reinterpret(self.dtype, x[i]), name="T_reinterpret", tag="elemwise")


@operator("where", "condition", "x", "y", pattern=Pattern.BROADCAST, level=4)
@dataclass(frozen=True)
class Where(Operator):
    """The element of `x` where `condition` differs from 0, that of `y` elsewhere; the three broadcast together."""

    precision = "follow"

    one_dtype = ("x", "y", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The branches broadcast against each other and the condition; they have one dtype, which is the result's."""
        condition, x, y = (tensor(t, name) for t, name in zip(types, self.arguments, strict=True))
        if condition is None or x is None or y is None:
            return None
        require_dtype(x, y)
        return TensorType(broadcast_shape(condition.shape, broadcast_shape(x.shape, y.shape)), x.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return broadcast_known(args, out)

    def evaluate(self, condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(condition != 0, x, y)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        condition, x, y = inputs
        return te.compute(
            out_type.shape,
            lambda *i: te.select(te.cast(pick(condition, i), "bool"), pick(x, i), pick(y, i)),
            name="T_where",
            tag="broadcast",
        )
