"""Products with sparse matrices, in compressed rows (CSR: scalars) or compressed rows of blocks (BSR).

`indptr[i]` to `indptr[i + 1]` are the places of row `i`'s elements in `data`, and `indices` their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.dims import Dim
from ...symbolic_int import bound, is_open
from ...tir.dtypes import accumulator_dtype
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..indexing.bounds import clip_indices
from ..shape.reshape import unflatten
from ..shapes import mul, require_compatible, require_integers, require_numbers, require_rank, sub, tensor
from ..typical import Rows, below, extent_of, shape_of, summed
from .gemm import matmul

_FEWEST = 4
"""Dense rows below which each element of a product is computed by itself."""


def dense_form(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int, dtype: str | np.dtype
) -> np.ndarray:
    """The matrix itself, `(rows, columns)`, in a dtype; elements given twice are summed in it."""
    blocks = data.reshape(len(data), *(data.shape[1:] if data.ndim == 3 else (data.shape[1:] or (1,)) + (1,)))
    height, width = blocks.shape[1:]
    rows, across = len(indptr) - 1, -(-columns // width)
    row, place = elements_of_rows(indptr, len(data))
    out = np.zeros((rows, across, height, width), dtype)
    if across:
        np.add.at(out, (row, clip_indices(indices, across)[place]), convert(blocks, out.dtype)[place])
    return out.transpose(0, 2, 1, 3).reshape(rows * height, across * width)[:, :columns]


def require_rows(data: TensorType, indices: Type, indptr: TensorType | None) -> None:
    """RelationError unless a column is given for each element, and the rows by where they begin and end."""
    columns = tensor(indices, "indices")
    if columns is not None:
        require_rank(columns, 1, "indices")
        require_integers(columns, "indices")
        require_compatible(data.shape[0], columns.shape[0], "the numbers of sparse elements and of indices")
    if indptr is not None:
        require_rank(indptr, 1, "indptr")
        require_integers(indptr, "indptr")
        if isinstance(indptr.shape[0], int) and indptr.shape[0] < 1:
            raise RelationError("indptr must say where the last row ends: it is empty")


def require_columns(reporter: Reporter, data: TensorType, columns: Dim) -> None:
    """RelationError where there are elements and no column for them."""
    message = f"a sparse matrix without columns has no elements, and {data} are given"
    reporter.require_elements((columns,), data.shape[:1], message)
    reporter.require_elements(data.shape[1:], (), f"blocks have elements, those of {data} have none")


def sparse_product(dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """`dense @ sparse.T` of a matrix; infinite numbers meet no zero that is not stored."""
    columns = dense.shape[1]
    if np.isfinite(dense).all() or not columns:
        wide = accumulator_dtype(str(dense.dtype))
        return matmul(dense, dense_form(data, indices, indptr, columns, wide).T, dense.dtype)
    blocks = data.reshape(len(data), *(data.shape[1:] if data.ndim == 3 else (data.shape[1:] or (1,)) + (1,)))
    height, width = blocks.shape[1:]
    out = np.zeros((dense.shape[0], len(indptr) - 1, height), np.float64)
    across = clip_indices(indices, -(-columns // width))
    for row, place in zip(*elements_of_rows(indptr, len(data)), strict=True):
        first = across[place] * width
        met = dense[:, first : first + width].astype(np.float64)
        out[:, row] += (met[:, None, :] * blocks[place][:, : met.shape[1]]).sum(-1)
    return out.reshape(dense.shape[0], out.shape[1] * height).astype(dense.dtype)


def elements_of_rows(indptr: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and place of each element, row by row; bounds beyond the `count` elements stand for the nearest."""
    bounds = clip_indices(indptr, count + 1).astype(np.int64)
    lengths = np.maximum(bounds[1:] - bounds[:-1], 0)
    first = np.repeat(bounds[:-1] - (np.cumsum(lengths) - lengths), lengths)
    return np.repeat(np.arange(len(lengths)), lengths), first + np.arange(len(first))


def span_of_row(indptr: Any, row: Any, count: int) -> tuple[Any, Any]:
    """The places of a row's elements, as bounds of a loop."""
    return te.clip_index(indptr[row], count + 1), te.clip_index(indptr[row + 1], count + 1)


def row_sums(
    inputs: Sequence[Any],
    shape: tuple[int, ...],
    dtype: str,
    read: Callable[[Any, tuple[Any, ...], Any], Any],
    channel: int,
    columns: int,
    is_contiguous: bool = False,
) -> Any:
    """A tensor of `shape` whose element sums over a sparse row, which axis `channel` counts.

    `inputs` are the dense tensor and the sparse one's data, indices and indptr; `read(dense, i, column)` is the dense
    element that column `column` of the row meets at `i`, of which there are `columns`. `is_contiguous`: these are contiguous along the
    last axis of `i`. Otherwise the dense tensor is transposed first, and each nonzero multiplies contiguous elements of it:

        for n, row: for e in row: acc += nonzeros[e] * x[n, column[e]]

        ⇒   t[c, n] = x[n, c]; for row, n: for e in row: acc += nonzeros[e] * t[column[e], n]; out[n, row] = acc
    """
    data = inputs[1]
    height = data.shape[1] if data.ndim > 1 else 1
    width = data.shape[2] if data.ndim > 2 else 1
    wide = accumulator_dtype(dtype)
    across = -(-columns // width)
    count = data.shape[0] if columns else 0

    def product_of(
        inputs: Sequence[Any], shape: tuple[int, ...], channel: int, read: Callable[[Any, tuple[Any, ...], Any], Any]
    ) -> Any:
        def fill(ib: Any, ins: Any, outs: Any) -> None:
            dense, nonzeros, indices, indptr = ins
            _loop(ib, shape, (), lambda i: one(ib, i, dense, nonzeros, indices, indptr, outs[0]))

        def one(ib: Any, i: tuple[Any, ...], dense: Any, nonzeros: Any, indices: Any, indptr: Any, out: Any) -> None:
            row = te.floordiv(i[channel], height) if height > 1 else i[channel]
            total = ib.local(wide, 0)
            with ib.for_(*span_of_row(indptr, row, count)) as e, ib.for_(width) as c:
                position = (e, te.floormod(i[channel], height), c)[: data.ndim]
                column = te.clip_index(indices[e], across) * width + c
                product = te.cast(nonzeros[position], wide) * te.cast(read(dense, i, column), wide)
                if columns % width:
                    product = te.if_then_else(column < columns, product, te.const(0, wide))
                total.set(total.get() + product)
            ib.store(out, i, te.cast(total.get(), dtype))

        return te.extern(shape, list(inputs), fill, dtype=dtype, name="sparse_product")

    others = (*shape[:channel], *shape[channel + 1 :])
    if is_contiguous or any(is_open(n) for n in (*shape, columns)) or bound(prod(others)) < _FEWEST:
        return product_of(inputs, shape, channel, read)

    def element(c: Any, n: Any) -> Any:
        index = unflatten(n, others)
        return read(inputs[0], (*index[:channel], 0, *index[channel:]), c)

    transposed = te.compute((columns, prod(others)), element, name="transposed", tag="injective")
    sums = product_of([transposed, *inputs[1:]], (shape[channel], prod(others)), 0, lambda x, i, c: x[c, i[1]])

    def result(*i: Any) -> Any:
        place: Any = 0
        for extent, index in zip(others, (*i[:channel], *i[channel + 1 :])):
            place = place * extent + index
        return sums[i[channel], place]

    return te.compute(shape, result, name="sparse_product", tag="injective")


def _loop(ib: Any, shape: Sequence[int], done: tuple[Any, ...], body: Callable[[tuple[Any, ...]], None]) -> None:
    """Loops over the axes of `shape`, one inside another."""
    if len(done) == len(shape):
        body(done)
        return
    with ib.for_(shape[len(done)]) as i:
        _loop(ib, shape, (*done, i), body)


class SparseDenseFamily(Operator):
    """The type rule of a product with a sparse matrix."""

    no_gradient = "weights become sparse after training; dense products have one"

    sparse_lhs: bool

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        inner, count, starts = extent_of(types[0], -1), extent_of(types[2], 0), extent_of(types[3], 0)
        block = shape_of(types[1]) or ()
        columns = inner // block[2] if inner and len(block) == 3 and block[2] else inner
        rows = (starts - 1) * (block[1] if len(block) == 3 else 1) if starts else 0
        return (None, summed(types[1], rows), below(columns), Rows(count) if count is not None else None)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Dense `(M, K)` and a sparse matrix of rows by `indptr` give `(M, rows)`, or `(rows, M)` with `sparse_lhs`."""
        dense, data = tensor(types[0], "the dense matrix"), tensor(types[1], "the sparse data")
        indptr = tensor(types[3], "indptr")
        if dense is None or data is None or indptr is None:
            return None
        if len(data.shape) not in (1, 3):
            raise RelationError(f"sparse data has rank 1 (CSR) or 3 (BSR), not {len(data.shape)} ({data})")
        require_rank(dense, 2, "the dense matrix")
        require_rows(data, types[2], indptr)
        require_columns(reporter, data, dense.shape[1])
        rows: Dim = sub(indptr.shape[0], 1)
        if len(data.shape) == 3:
            rows = mul(rows, data.shape[1])
        shape = (rows, dense.shape[0]) if self.sparse_lhs else (dense.shape[0], rows)
        return TensorType(shape, dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        product = sparse_product(dense, data, indices, indptr)
        return np.ascontiguousarray(product.T) if self.sparse_lhs else product

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        columns = inputs[0].shape[1]
        if self.sparse_lhs:
            return row_sums(inputs, out_type.shape, out_type.dtype, lambda x, i, c: x[i[1], c], 0, columns)
        return row_sums(inputs, out_type.shape, out_type.dtype, lambda x, i, c: x[i[0], c], 1, columns)


@operator(
    "nn.sparse_dense",
    "dense_data",
    "sparse_data",
    "sparse_indices",
    "sparse_indptr",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="SparseDenseAttrs",
    level=1,
)
@dataclass(frozen=True)
class SparseDense(SparseDenseFamily):
    """`dense @ sparse.T`, or `sparse @ dense.T` with `sparse_lhs`."""

    sparse_lhs: bool = False


@operator(
    "nn.internal.sparse_dense_padded",
    "data",
    "weight_data",
    "weight_indices",
    "weight_indptr",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="SparseDenseAttrs",
    level=1,
)
@dataclass(frozen=True)
class SparseDensePadded(SparseDenseFamily):
    """`nn.sparse_dense` with rows padded with zeros to a multiple of 32 elements."""

    sparse_lhs: bool = False


@operator(
    "nn.sparse_conv2d",
    "dense_data",
    "sparse_data",
    "sparse_indices",
    "sparse_indptr",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="SparseConv2DAttrs",
    level=1,
)
@dataclass(frozen=True)
class SparseConv2D(Operator):
    """A 1x1 convolution of `NHWC` or `NCHW` data with sparse weights `(O, C)` in blocks of rank 2 or 3."""

    no_gradient = "weights become sparse after training; dense products have one"

    layout: str = "NHWC"
    kernel_size: tuple[int, ...] = (1, 1)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The dense data's type with one channel for each row of the sparse weights."""
        dense, data = tensor(types[0], "the dense data"), tensor(types[1], "the sparse data")
        indptr = tensor(types[3], "indptr")
        if dense is None or data is None or indptr is None:
            return None
        if len(data.shape) not in (2, 3):
            raise RelationError(f"sparse weights have rank 2 or 3 (blocks), not {len(data.shape)} ({data})")
        if self.layout not in ("NHWC", "NCHW"):
            raise RelationError(f"layout must be NHWC or NCHW, not {self.layout}")
        if tuple(self.kernel_size) != (1, 1):
            raise RelationError(f"only kernels of 1x1 have a meaning, not {list(self.kernel_size)}")
        require_rank(dense, 4, "the dense data")
        require_rows(data, types[2], indptr)
        outputs = mul(sub(indptr.shape[0], 1), data.shape[1])
        require_columns(reporter, data, dense.shape[3 if self.layout == "NHWC" else 1])
        n, a, b, c = dense.shape
        return TensorType((n, a, b, outputs) if self.layout == "NHWC" else (n, outputs, b, c), dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        x = dense if self.layout == "NHWC" else dense.transpose(0, 2, 3, 1)
        y = sparse_product(x.reshape(prod(x.shape[:3]), x.shape[3]), data, indices, indptr)
        y = y.reshape(*x.shape[:3], y.shape[1])
        return y if self.layout == "NHWC" else np.ascontiguousarray(y.transpose(0, 3, 1, 2))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        shape, dtype, data = out_type.shape, out_type.dtype, inputs[0]
        if self.layout == "NHWC":
            return row_sums(inputs, shape, dtype, lambda x, i, c: x[(*i[:3], c)], 3, data.shape[3])
        return row_sums(
            inputs, shape, dtype, lambda x, i, c: x[i[0], c, i[2], i[3]], 1, data.shape[1], is_contiguous=True
        )


@operator(
    "nn.sparse_transpose",
    "sparse_data",
    "sparse_indices",
    "sparse_indptr",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="SparseTransposeAttrs",
    level=1,
)
@dataclass(frozen=True)
class SparseTranspose(Operator):
    """The transpose of a square CSR matrix, as its data, indices and indptr."""

    no_gradient = "weights become sparse after training; dense products have one"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TupleType | None:
        """A tuple of the types of data, indices and indptr."""
        parts = [tensor(t, what) for t, what in zip(types, ("the data", "indices", "indptr"), strict=True)]
        if parts[0] is None or parts[1] is None or parts[2] is None:
            return None
        require_rank(parts[0], 1, "the data")
        require_rows(parts[0], parts[1], parts[2])
        return TupleType(tuple(TensorType(p.shape, p.dtype) for p in parts if p is not None))

    def evaluate(
        self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, count = len(indptr) - 1, len(data)
        row, place = elements_of_rows(indptr, count)
        column = clip_indices(indices, rows)[place]
        order = np.argsort(column, kind="stable")[:count]
        values, into = np.zeros_like(data), np.zeros(indices.shape, indices.dtype)
        values[: len(order)], into[: len(order)] = data[place[order]], row[order]
        ends = np.minimum(np.cumsum(np.bincount(column, minlength=rows)[:rows]), count)
        starts = np.concatenate([np.concatenate([[0], ends])[:rows], [count]])
        return values, into, starts.astype(indptr.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, indices, indptr = inputs
        rows, elements = indptr.shape[0] - 1, data.shape[0]

        def fill(ib: Any, ins: Any, outs: Any) -> None:
            values, columns, starts = ins
            out_values, out_rows, out_starts = outs
            next_free = ib.local("int32", 0)
            with ib.for_(elements) as e:
                ib.store(out_values, (e,), te.const(0, data.dtype))
                ib.store(out_rows, (e,), te.const(0, indices.dtype))
            with ib.for_(rows) as column:
                ib.store(out_starts, (column,), te.cast(next_free.get(), indptr.dtype))
                with ib.for_(rows) as row:
                    # Rows that overlap have more elements than there is room for.
                    span = span_of_row(starts, row, elements)
                    with (
                        ib.for_(*span) as e,
                        ib.if_(te.all(te.clip_index(columns[e], rows).equal(column), next_free() < elements)),
                    ):
                        ib.store(out_values, (next_free.get(),), values[e])
                        ib.store(out_rows, (next_free.get(),), te.cast(row, indices.dtype))
                        next_free.set(next_free.get() + 1)
            ib.store(out_starts, (rows,), te.const(elements, indptr.dtype))

        shapes = [data.shape, indices.shape, indptr.shape]
        dtypes = [data.dtype, indices.dtype, indptr.dtype]
        return list(te.extern(shapes, list(inputs), fill, dtype=dtypes, name="sparse_transpose"))


@operator(
    "nn.sparse_add",
    "dense_data",
    "sparse_data",
    "sparse_indices",
    "sparse_indptr",
    pattern=Pattern.OPAQUE,
    level=1,
)
@dataclass(frozen=True)
class SparseAdd(Operator):
    """The sum of a dense matrix and a CSR matrix."""

    no_gradient = "weights become sparse after training; dense products have one"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The type of the dense matrix, whose dtype the sparse one has, too."""
        dense, data = tensor(types[0], "the dense matrix"), tensor(types[1], "the sparse data")
        indices = tensor(types[2], "indices")
        if dense is None or data is None or indices is None:
            return None
        if dense.dtype != data.dtype:
            raise RelationError(f"the dense matrix holds {dense.dtype}, the sparse one {data.dtype}")
        require_rank(data, 1, "the sparse data")
        require_rank(dense, 2, "the dense matrix")
        require_numbers(dense, "the dense matrix")
        indptr = tensor(types[3], "indptr")
        require_rows(data, indices, indptr)
        if indptr is not None:
            require_compatible(sub(indptr.shape[0], 1), dense.shape[0], "the rows of the sparse and the dense matrix")
        require_columns(reporter, data, dense.shape[1])
        return TensorType(dense.shape, dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        return dense + dense_form(data, indices, indptr, dense.shape[1], dense.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        rows, columns = out_type.shape

        def fill(ib: Any, ins: Any, outs: Any) -> None:
            dense, values, indices, starts = ins
            (out,) = outs
            with ib.for_(rows) as i:
                with ib.for_(columns) as j:
                    ib.store(out, (i, j), dense[i, j])
                with ib.for_(*span_of_row(starts, i, values.shape[0] if columns else 0)) as e:
                    j = te.clip_index(indices[e], columns)
                    ib.store(out, (i, j), out[i, j] + values[e])

        return te.extern(out_type.shape, list(inputs), fill, dtype=out_type.dtype, name="sparse_add")
