"""Operators about positions: `argwhere`, `unravel_index`, `sequence_mask`, `matrix_set_diag`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import number_as
from ..relations import require_dtype
from ..shapes import require_compatible, require_number, require_rank, tensor
from ..typical import below, extent_of
from .bounds import require_places
from .take import require_integers


@operator("argwhere", "condition", pattern=Pattern.OPAQUE, level=10)
@dataclass(frozen=True)
class Argwhere(Operator):
    """The indices of the elements that are not zero, one row each, in row-major order."""

    differentiable = False

    precision = "follow"

    shape_from_data = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """int32 `(?, rank)`: a row for each element that is not zero."""
        condition = tensor(types[0])
        return None if condition is None else TensorType((ANY, len(condition.shape)), "int32")

    def evaluate(self, condition: Any) -> Any:
        if condition.ndim == 0:
            return np.zeros((int(bool(condition)), 0), np.int32)
        return np.argwhere(condition).astype(np.int32)


@operator("unravel_index", "data", "shape", pattern=Pattern.INJECTIVE, level=3)
@dataclass(frozen=True)
class UnravelIndex(Operator):
    """The indices, one row per axis, of the elements at row-major positions `data` in a tensor of shape `shape`.

    Each index is within its axis: a position behind the end starts again from the front.
    """

    differentiable = False

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The dtype of the indices; for a vector of them `(rank, count)`, for a scalar `(rank)`."""
        data, shape = tensor(types[0], "data"), tensor(types[1], "shape")
        if data is None or shape is None:
            return None
        require_integers(data, "data")
        require_integers(shape, "shape")
        require_rank(shape, 1, "shape")
        if isinstance(shape.shape[0], int):
            require_number(shape.shape[0], "the number of axes")
        if len(data.shape) > 1:
            raise RelationError(f"data must be a vector or a scalar, not {data}")
        return TensorType((shape.shape[0], *data.shape), data.dtype)

    def evaluate(self, data: Any, shape: Any) -> Any:
        rest = data.astype(np.int64)
        rows = []
        for extent in shape[::-1].astype(np.int64):
            rows.append(np.mod(rest, extent) if extent else np.zeros_like(rest))
            rest = np.floor_divide(rest, extent) if extent else np.zeros_like(rest)
        out = np.stack(rows[::-1]) if rows else np.zeros((0, *data.shape))
        return out.astype(data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, shape = inputs

        def element(axis: Any, *i: Any) -> Any:
            rest = te.cast(data[i], "int64")
            coordinate: Any = te.const(0, "int64")
            for k in range(shape.shape[0] - 1, -1, -1):
                extent = te.cast(shape[k], "int64")
                coordinate = te.select(axis.equal(k), te.floormod(rest, extent), coordinate)
                rest = te.floordiv(rest, extent)
            return te.cast(coordinate, out_type.dtype)

        return te.compute(out_type.shape, element, name="unravel_index", tag="injective")


_COUNTS = dict.fromkeys(("bool", "int8", "uint8", "int16", "uint16"), "int32") | {
    "float16": "float32",
    "bfloat16": "float32",
}
"""The dtype in which steps are compared with lengths whose dtype cannot count all steps."""


@operator("sequence_mask", "data", "valid_length", pattern=Pattern.INJECTIVE, attrs="SequenceMaskAttrs", level=10)
@dataclass(frozen=True)
class SequenceMask(Operator):
    """The elements after the first `valid_length[b]` steps of each sequence b replaced by `mask_value`.

    `axis`, 0 or 1, is the axis of steps; the other of the first two is that of sequences.
    """

    mask_value: float = 0.0
    axis: int = 0

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (hint, below(extent_of(types[0], self.axis)))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's type; the lengths are a vector of its extent along the other of its first two axes."""
        data, length = tensor(types[0], "data"), tensor(types[1], "valid_length")
        if data is None or length is None:
            return None
        if self.axis not in (0, 1):
            raise RelationError(f"axis is {self.axis}; it can be 0 or 1")
        if len(data.shape) < 2:
            raise RelationError(f"data must have an axis of steps and one of sequences, but it is {data}")
        reporter.assign(1, TensorType((data.shape[1 - self.axis],), length.dtype))
        return data

    def evaluate(self, data: Any, length: Any) -> Any:
        steps = np.arange(data.shape[self.axis])
        outside = steps >= length[:, None] if self.axis == 1 else steps[:, None] >= length
        outside = outside.reshape(*outside.shape, *(1,) * (data.ndim - 2))
        return np.where(outside, number_as(self.mask_value, data.dtype), data)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, length = inputs

        def element(*i: Any) -> Any:
            valid = length[i[1 - self.axis]]
            wide = _COUNTS.get(valid.dtype, valid.dtype)
            outside = te.cast(i[self.axis], wide) >= te.cast(valid, wide)
            return te.select(outside, te.const(self.mask_value, data.dtype), data[i])

        return te.compute(data.shape, element, name="sequence_mask", tag="injective")


@operator("matrix_set_diag", "input", "diagonal", pattern=Pattern.INJECTIVE, attrs="MatrixSetDiagAttrs", level=10)
@dataclass(frozen=True)
class MatrixSetDiag(Operator):
    """Matrices with their diagonals `k1` … `k2` (0 the main one, positive above) replaced.

    One diagonal is a row of `diagonal`; several are the rows of a matrix, `k2` first, the shorter ones aligned to the
    right or to the left as the attributes say for those above and below the main diagonal.
    """

    k1: int = 0
    k2: int = 0
    super_diag_right_align: bool = True
    sub_diag_right_align: bool = False

    one_shape = ("input", "result")
    one_dtype = ("input", "diagonal", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data; the diagonals have its leading axes, then their number (if more than one), then the
        longest.
        """
        data, diagonal = tensor(types[0], "input"), tensor(types[1], "diagonal")
        if data is None or diagonal is None:
            return None
        require_dtype(data, diagonal)
        if self.k2 < self.k1:
            raise RelationError(f"k2 is {self.k2}, less than k1, which is {self.k1}")
        rank = len(data.shape)
        if rank < 2:
            raise RelationError(f"input must be a matrix at least, not {data}")
        require_rank(diagonal, rank - (self.k1 == self.k2), "diagonal")
        for i in range(rank - 2):
            require_compatible(data.shape[i], diagonal.shape[i], f"axis {i} of input and diagonal")
        if self.k1 != self.k2:
            require_compatible(
                diagonal.shape[-2], self.k2 - self.k1 + 1, f"axis {rank - 2} of diagonal and the number of diagonals"
            )
        require_places(reporter, (diagonal.shape[-1],), data.shape, "the last axis of diagonal")
        return data

    def evaluate(self, data: Any, diagonal: Any) -> Any:
        rows, columns = data.shape[-2:]
        out = np.array(data)
        for k in range(self.k1, self.k2 + 1):
            length = min(rows + min(k, 0), columns - max(k, 0))
            if length <= 0:
                continue
            line = diagonal if self.k1 == self.k2 else diagonal[..., self.k2 - k, :]
            right = self.super_diag_right_align if k >= 0 else self.sub_diag_right_align
            start = line.shape[-1] - length if right and self.k1 != self.k2 else 0
            steps = np.arange(length)
            source = np.clip(steps + start, 0, line.shape[-1] - 1)
            out[..., steps + max(-k, 0), steps + max(k, 0)] = line[..., source]
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, diagonal = inputs
        rows, columns = data.shape[-2:]
        longest = diagonal.shape[-1]

        def element(*i: Any) -> Any:
            *lead, row, column = i
            k = column - row
            along_diagonal = te.select(k >= 0, row, column)
            index = list(lead)
            if self.k1 != self.k2:
                index.append(te.max2(te.min2(self.k2 - k, self.k2 - self.k1), 0))
                zero = te.const(0, "int32")
                above = longest - te.min2(columns - k, rows) if self.super_diag_right_align else zero
                below = longest - te.min2(rows + k, columns) if self.sub_diag_right_align else zero
                along_diagonal = along_diagonal + te.select(k >= 0, above, below)
            along_diagonal = te.max2(te.min2(along_diagonal, longest - 1), 0)
            return te.if_then_else(te.all(k >= self.k1, k <= self.k2), diagonal[(*index, along_diagonal)], data[i])

        return te.compute(out_type.shape, element, name="matrix_set_diag", tag="injective")
