"""Sparse tensors in coordinate format: rows of indices beside a vector of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, TupleType, Type
from ..ir.dims import ANY
from .base import Operator, Pattern, RelationError, Reporter, operator
from .conversion import convert
from .dtypes import is_signed
from .shapes import require_compatible, require_integers, require_number, require_rank, tensor


def _require_signed(type: TensorType, what: str) -> None:
    if not is_signed(type.dtype):
        raise RelationError(f"{what} must hold signed integers, not {type.dtype}")


def scatter_values(indices: np.ndarray, values: np.ndarray, default: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """A dense array of `default`, with `values` at `indices` (a scalar, a vector of first indices, or one row each).

    Of several values for one place the last counts; an index out of range is passed over.
    """
    dense = np.full(tuple(shape), convert(default, values.dtype.name), values.dtype)
    rows = indices.reshape(*((indices.size, 1) if indices.ndim < 2 else indices.shape))
    for place, value in zip(rows.tolist(), values.reshape(-1), strict=False):
        if all(0 <= i < extent for i, extent in zip(place, dense.shape, strict=False)):
            dense[tuple(place)] = value
    return dense


@operator(
    "sparse_to_dense",
    "sparse_indices",
    "sparse_values",
    "default_value",
    pattern=Pattern.OPAQUE,
    attrs="SparseToDenseAttrs",
    level=3,
)
@dataclass(frozen=True)
class SparseToDense(Operator):
    """A dense tensor of shape `output_shape` with the values at their indices and `default_value` elsewhere.

    Of several values for one place the last counts; an index out of range is passed over.
    """

    layout_rule = "elementwise"

    output_shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`output_shape` with the dtype of the values."""
        indices, values, default = (tensor(t, what) for t, what in zip(types, self.arguments, strict=True))
        if indices is None or values is None or default is None:
            return None
        _require_signed(indices, "sparse_indices")
        if len(indices.shape) > 2:
            raise RelationError(f"sparse_indices must have at most two axes, not {len(indices.shape)}")
        if len(values.shape) > 1:
            raise RelationError(f"sparse_values must have at most one axis, not {len(values.shape)}")
        require_rank(default, 0, "default_value")
        depth = indices.shape[1] if len(indices.shape) == 2 else 1
        if isinstance(depth, int) and depth != len(self.output_shape):
            axes = len(self.output_shape)
            raise RelationError(f"sparse_indices {indices} name places on {depth} axes, and output_shape has {axes}")
        return TensorType(self.output_shape, values.dtype)

    def evaluate(self, indices: np.ndarray, values: np.ndarray, default: np.ndarray) -> np.ndarray:
        return scatter_values(indices, values, default, self.output_shape)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        indices, values, default = inputs
        depth = indices.shape[1] if indices.ndim == 2 else 1
        count = indices.shape[0] if indices.ndim else 1

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            out = outs[0]
            everywhere = [ib.for_(extent) for extent in out_type.shape]
            ib.store(out, tuple(loop.__enter__() for loop in everywhere), te.cast(ins[2][()], out_type.dtype))
            for loop in reversed(everywhere):
                loop.__exit__(None, None, None)
            with ib.for_(count) as row:
                place = [ib.let(ins[0][((row, k), (row,), ())[2 - indices.ndim]]) for k in range(depth)]
                inside = [te.all(p >= 0, p < extent) for p, extent in zip(place, out_type.shape, strict=True)]
                with ib.if_(te.all(*inside)):
                    ib.store(out, tuple(place), ins[1][(row,) if values.ndim else ()])

        return te.extern(out_type.shape, [indices, values, default], fill, dtype=out_type.dtype, name="sparse_to_dense")


@operator(
    "sparse_fill_empty_rows",
    "sparse_indices",
    "sparse_values",
    "dense_shape",
    "default_value",
    pattern=Pattern.OPAQUE,
    level=3,
)
@dataclass(frozen=True)
class SparseFillEmptyRows(Operator):
    """Gives every row of a sparse matrix an entry: rows without one get `default_value` in their first column.

    Results, all int64: the indices, the values, and for each row whether it was empty. Indices come in row-major order.
    """

    no_gradient = "rows are counted as it runs"

    shape_from_data = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of int64 indices `(?, rank)`, values `(?)` and the empty rows `(?)`."""
        indices = tensor(types[0], "sparse_indices")
        if indices is None:
            return None
        require_rank(indices, 2, "sparse_indices")
        values, extents, default = (tensor(t, what) for t, what in zip(types[1:], self.arguments[1:], strict=True))
        for type, rank, what in ((values, 1, "sparse_values"), (extents, 1, "dense_shape")):
            if type is not None:
                require_rank(type, rank, what)
        for type, what in ((indices, "sparse_indices"), (extents, "dense_shape")):
            require_integers(type, what)
        if isinstance(indices.shape[1], int) and indices.shape[1] < 1:
            raise RelationError(f"sparse_indices must name a row at least, not {indices}")
        if values is not None:
            require_compatible(indices.shape[0], values.shape[0], "the numbers of sparse_indices and sparse_values")
        if default is not None:
            reporter.require_elements(default.shape, (), f"default_value must have an element: {default}")
        if extents is not None:
            require_compatible(indices.shape[1], extents.shape[0], "the axes of sparse_indices and of dense_shape")
        vector = TensorType((ANY,), "int64")
        return TupleType((TensorType((ANY, indices.shape[1]), "int64"), vector, vector))

    def evaluate(self, indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray, default: np.ndarray) -> Any:
        rows = int(dense_shape[0])
        empty = np.ones(rows, "int64")
        if np.any((indices[:, 0] < 0) | (indices[:, 0] >= rows)):
            raise IrError(f"a row index of sparse_indices is out of range for {rows} rows")
        empty[indices[:, 0]] = 0
        filled = np.zeros((int(empty.sum()), indices.shape[1]), "int64")
        filled[:, 0] = np.flatnonzero(empty)
        every = np.concatenate([indices.astype("int64"), filled])
        numbers = np.concatenate([values.astype("int64"), np.full(len(filled), default.reshape(-1)[0], "int64")])
        order = np.argsort(every[:, 0], kind="stable")
        return every[order], numbers[order], empty


@operator("sparse_reshape", "sparse_indices", "prev_shape", "new_shape", pattern=Pattern.INJECTIVE, level=3)
@dataclass(frozen=True)
class SparseReshape(Operator):
    """The indices of a sparse tensor after its dense form is reshaped, and the new shape with its -1 resolved."""

    differentiable = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of indices for the new rank, of the indices' dtype, and the type of the new shape."""
        indices, before, after = (tensor(t, what) for t, what in zip(types, self.arguments, strict=True))
        if indices is None or before is None or after is None:
            return None
        for type, rank, what in zip((indices, before, after), (2, 1, 1), self.arguments, strict=True):
            _require_signed(type, what)
            require_rank(type, rank, what)
        require_compatible(indices.shape[1], before.shape[0], "the axes of sparse_indices and of prev_shape")
        for shape in (before.shape, after.shape):
            if isinstance(shape[0], int):
                require_number(shape[0], "the number of axes")
        return TupleType((TensorType((indices.shape[0], after.shape[0]), indices.dtype), after))

    def evaluate(self, indices: np.ndarray, before: np.ndarray, after: np.ndarray) -> Any:
        old, new = [int(d) for d in before], [int(d) for d in after]
        known = math.prod(d for d in new if d != -1)
        new = [math.prod(old) // known if d == -1 and known else d for d in new]
        if math.prod(old) != math.prod(new):
            raise IrError(f"a shape {tuple(old)} cannot become {tuple(int(d) for d in after)}")
        flat = np.zeros(len(indices), "int64")
        for axis, extent in enumerate(old):
            flat = flat * extent + indices[:, axis]
        columns = []
        for extent in reversed(new):
            columns.append(flat % extent if extent else flat)
            flat = flat // extent if extent else flat
        moved = np.stack(columns[::-1], axis=-1) if columns else np.zeros((len(indices), 0))
        return moved.astype(indices.dtype), np.array(new, after.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        indices, before, after = inputs
        old, new = before.shape[0], after.shape[0]
        moved, shape = out_type.fields

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            extents = outs[1]
            rest = ib.local("int64", te.const(1, "int64"))
            for k in range(old):
                rest.set(rest.get() * te.cast(ins[1][k], "int64"))
            for k in range(new):
                known = te.select(ins[2][k] == -1, te.const(1, after.dtype), ins[2][k])
                rest.set(te.truncdiv(rest.get(), te.cast(known, "int64")))
            for k in range(new):
                ib.store(extents, (k,), te.select(ins[2][k] == -1, te.cast(rest.get(), after.dtype), ins[2][k]))
            with ib.for_(indices.shape[0]) as row:
                flat = ib.local("int64", te.const(0, "int64"))
                for k in range(old):
                    flat.set(flat.get() * te.cast(ins[1][k], "int64") + te.cast(ins[0][row, k], "int64"))
                for k in reversed(range(new)):
                    extent = ib.let(te.cast(extents[k], "int64"))
                    ib.store(outs[0], (row, k), te.floormod(flat.get(), extent))
                    flat.set(te.floordiv(flat.get(), extent))

        shapes, dtypes = [moved.shape, shape.shape], [moved.dtype, shape.dtype]
        return list(te.extern(shapes, [indices, before, after], fill, dtype=dtypes, name="sparse_reshape"))
