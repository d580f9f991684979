"""Operators that make a tensor from a shape or a few scalars: constants, ranges, one-hot rows, triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import Constant, TensorType, Type
from ..ir.dims import ANY, Dim
from ..ir.expr import MissingData
from ..symbolic_int import bound
from ..tir import dtypes
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .conversion import convert
from .dtypes import numpy_dtype
from .relations import identity
from .shapes import require_integers, require_scalar, tensor
from .typical import below


def _scalar(type: Type, what: str) -> TensorType | None:
    """`type` if it is that of a scalar tensor, None if it is unknown."""
    tensor_type = tensor(type, what)
    if tensor_type is not None and tensor_type.shape:
        raise RelationError(f"{what} must be a scalar, not {tensor_type}")
    return tensor_type


def _filled(shape: Sequence[int], dtype: str, value: Any) -> Any:
    return te.compute(tuple(shape), lambda *i: value(), name="T_full", tag="elemwise")


class _Fill(Operator):
    """Base of `zeros` and `ones`: an array of one number, whose shape and dtype the attributes say."""

    shape: Any
    dtype: Any
    number: ClassVar[int]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`shape` and `dtype`, as the attributes say."""
        if self.shape is None:
            raise RelationError("the attribute shape is missing")
        return TensorType(self.shape, self.dtype)

    def evaluate(self) -> np.ndarray:
        return np.full(self.shape, self.number, numpy_dtype(self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return _filled(out_type.shape, out_type.dtype, lambda: te.const(self.number, out_type.dtype))


@operator("zeros", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class Zeros(_Fill):
    """Zeros of a shape and dtype."""

    precision = "follow"
    narrowed_attribute = "dtype"
    layout_rule = ""

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    number = 0


@operator("ones", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class Ones(_Fill):
    """Ones of a shape and dtype."""

    narrowed_attribute = "dtype"
    layout_rule = ""

    shape: tuple[int, ...] | None
    dtype: DType = VOID
    number = 1


class _FillLike(Operator):
    """Base of `zeros_like` and `ones_like`."""

    number: ClassVar[int]

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The argument and the result have one type; whichever is known gives the other its own."""
        return identity(types, reporter)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        return np.full(x.shape, self.number, x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return _filled(out_type.shape, out_type.dtype, lambda: te.const(self.number, out_type.dtype))


@operator("zeros_like", "data", pattern=Pattern.ELEMWISE, level=4)
@dataclass(frozen=True)
class ZerosLike(_FillLike):
    """Zeros of the shape and dtype of a tensor."""

    number = 0


@operator("ones_like", "data", pattern=Pattern.ELEMWISE, level=4)
@dataclass(frozen=True)
class OnesLike(_FillLike):
    """Ones of the shape and dtype of a tensor."""

    number = 1


@operator("full", "fill_value", pattern=Pattern.ELEMWISE, attrs="InitOpAttrs", level=3)
@dataclass(frozen=True)
class Full(Operator):
    """A scalar repeated to `shape`, converted to `dtype` if one is given."""

    precision = "follow"
    narrowed_attribute = "dtype"
    layout_rule = ""

    shape: tuple[int, ...] | None
    dtype: DType = VOID

    dtype_attribute = "dtype"
    one_dtype = ("fill_value", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A scalar gives `shape` with `dtype`, or its own dtype where none is given."""
        value = _scalar(types[0], "the value to fill with")
        if value is None:
            return None
        if self.shape is None:
            raise RelationError("the attribute shape is missing")
        return TensorType(self.shape, self.dtype or value.dtype)

    def evaluate(self, value: np.ndarray) -> np.ndarray:
        filled = convert(value, self.dtype) if self.dtype else np.asarray(value)
        return np.full(self.shape or (), filled, filled.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return _filled(out_type.shape, out_type.dtype, lambda: te.cast(inputs[0][()], out_type.dtype))


@operator("full_like", "data", "fill_value", pattern=Pattern.ELEMWISE, level=3)
@dataclass(frozen=True)
class FullLike(Operator):
    """A scalar repeated to the shape of `data` and converted to its dtype."""

    layout_rule = ""

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the first argument; the second is a scalar of any dtype."""
        x, value = tensor(types[0], "data"), _scalar(types[1], "the value to fill with")
        return x if x is not None and value is not None else None

    def evaluate(self, x: np.ndarray, value: np.ndarray) -> np.ndarray:
        return np.full(x.shape, convert(value, x.dtype.name), x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return _filled(out_type.shape, out_type.dtype, lambda: te.cast(inputs[1][()], out_type.dtype))


def _constant_value(e: Any) -> float | None:
    """The number that a scalar constant holds; None for any other expression."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData):
        return None
    if e.data.ndim != 0:
        raise RelationError("the bounds of a range must be scalars")
    return float(e.data)


def _range_length(start: float, stop: float, step: float) -> int:
    if step == 0:
        raise RelationError("the step of a range must not be 0")
    return math.ceil((stop - start) / step)


@operator("arange", "start", "end", "step", pattern=Pattern.OPAQUE, attrs="ArangeAttrs", level=3)
@dataclass(frozen=True)
class Arange(Operator):
    """`start`, `start + step`, … below `stop`. The attributes repeat the arguments; if they are constant, the length is known.

    The length is `ceil((stop - start) / step)`, computed in double precision. Where it is known only when running, the
    three are rounded towards zero first, as TVM does.
    """

    precision = "never"

    start: Any
    stop: Any
    step: Any
    dtype: DType

    shape_from_data = True

    dtype_attribute = "dtype"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of `dtype`; of known length where start, stop and step are constants, otherwise of length `?`."""
        for i in range(3):
            reporter.assign(i, TensorType((), self.dtype))
        start, stop, step = (_constant_value(e) for e in (self.start, self.stop, self.step))
        length: Dim = ANY
        if start is not None and stop is not None and step is not None:
            length = _range_length(start, stop, step)
            if length <= 0:
                raise RelationError(f"the range from {start:g} to {stop:g} by {step:g} is empty")
        return TensorType((length,), self.dtype)

    def elements_of(self, start: np.ndarray, stop: np.ndarray, step: np.ndarray) -> int:
        """The number of elements of the result for these operands. Raises RelationError for a range without end."""
        return max(_range_length(float(start), float(stop), float(step)), 0)

    def evaluate(self, start: np.ndarray, stop: np.ndarray, step: np.ndarray) -> np.ndarray:
        first, end, by = float(start), float(stop), float(step)
        known = all(isinstance(e, Constant) for e in (self.start, self.stop, self.step))
        if not known and abs(by) >= 1:
            first, end, by = map(math.trunc, (first, end, by))
        try:
            length = max(_range_length(first, end, by), 0)
        except RelationError as error:
            raise IrError(str(error)) from None
        steps = convert(np.arange(length), self.dtype)
        return convert(start + step * steps, self.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        start, _, step = inputs
        dtype = out_type.dtype
        return te.compute(
            out_type.shape, lambda i: start[()] + step[()] * te.cast(i, dtype), name="T_arange", tag="injective"
        )


@operator("one_hot", "indices", "on_value", "off_value", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="OneHotAttrs")
@dataclass(frozen=True)
class OneHot(Operator):
    """A new axis of extent `depth`, with `on_value` at the position that the index names and `off_value` elsewhere.

    An index out of range gives `off_value` throughout. `axis` is where the new axis goes, -1 for the end.
    """

    depth: int = 1
    axis: int = -1
    dtype: DType = VOID

    dtype_attribute = "dtype"

    def place(self, rank: int) -> int:
        """The position of the new axis, for indices of that rank."""
        axis = rank if self.axis == -1 else int(self.axis)
        if not 0 <= axis <= rank:
            raise RelationError(f"axis {self.axis} is out of range for indices of rank {rank}")
        return axis

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (below(self.depth),)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`dtype`; the shape of the indices with an axis of `depth` at `axis`. Both values are scalars."""
        indices = tensor(types[0], "indices")
        if indices is None:
            return None
        if self.depth <= 0:
            raise RelationError(f"depth must be positive, not {self.depth}")
        for t, what in zip(types[1:3], ("on_value", "off_value"), strict=True):
            require_scalar(tensor(t, what), what)
        axis = self.place(len(indices.shape))
        return TensorType((*indices.shape[:axis], self.depth, *indices.shape[axis:]), self.dtype)

    def evaluate(self, indices: np.ndarray, on_value: np.ndarray, off_value: np.ndarray) -> np.ndarray:
        axis = self.place(indices.ndim)
        if not indices.size:  # for any depth
            return np.zeros((*indices.shape[:axis], self.depth, *indices.shape[axis:]), numpy_dtype(self.dtype))
        positions = np.arange(self.depth).reshape([-1] + [1] * (indices.ndim - axis))
        hit = np.expand_dims(indices, axis) == positions
        return np.where(hit, convert(on_value, self.dtype), convert(off_value, self.dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        indices, on_value, off_value = inputs
        axis = self.place(indices.ndim)

        def element(*i: Any) -> Any:
            index = indices[(*i[:axis], *i[axis + 1 :])]
            hit = index == te.cast(i[axis], index.dtype)
            return te.select(hit, te.cast(on_value[()], out_type.dtype), te.cast(off_value[()], out_type.dtype))

        return te.compute(out_type.shape, element, name="T_one_hot", tag="injective")


@operator("trilu", "data", "k", pattern=Pattern.ELEMWISE, attrs="TriluAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Trilu(Operator):
    """The upper (or lower) triangle of each matrix, 0 elsewhere; `k` counts diagonals up from the main one."""

    layout_rule = ""

    upper: bool = True

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data, which has two axes at least; k is an integer scalar."""
        x, k = tensor(types[0], "data"), _scalar(types[1], "k")
        if x is not None and len(x.shape) < 2:
            raise RelationError(f"data must be a matrix, or several, not {x}")
        require_integers(k, "k")
        return x if k is not None else None

    def evaluate(self, x: np.ndarray, k: np.ndarray) -> np.ndarray:
        if x.ndim < 2:
            raise IrError(f"trilu needs a matrix, not a tensor of rank {x.ndim}")
        far = max(x.shape[-2:])  # behind the last diagonal
        diagonal = max(-far, min(far, int(k)))
        return np.triu(x, diagonal) if self.upper else np.tril(x, diagonal)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        x, k = inputs
        far = max(map(bound, x.shape[-2:]))  # behind the last diagonal
        diagonal = k[()]
        low, high = dtypes.int_range(k.dtype)
        if far < high:  # else every k is within the matrix
            diagonal = te.minimum(diagonal, te.const(far, k.dtype))
            if low < 0:
                diagonal = te.maximum(diagonal, te.const(-far, k.dtype))

        def element(*i: Any) -> Any:
            # The sum is on the row's side: gcc 12 with -O3 mistakes `column - k <= row` for `column - k == row`.
            row, column = i[-2] + te.cast(diagonal, "int64" if far >= 1 << 30 else "int32"), i[-1]
            keep = row <= column if self.upper else row >= column
            return te.select(keep, x[i], te.const(0, x.dtype))

        return te.compute(x.shape, element, name="T_trilu", tag="elemwise")
