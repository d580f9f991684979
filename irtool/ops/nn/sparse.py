"""Products with sparse matrices, in compressed rows (CSR: scalars) or compressed rows of blocks (BSR).

`indptr[i]` to `indptr[i + 1]` are the places of row `i`'s elements in `data`, and `indices` their columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import TensorType, TupleType, Type
from ...ir.dims import Dim
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import mul, require_rank, sub, tensor
from .gemm import matmul


def dense_form(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int) -> np.ndarray:
    """The matrix itself, `(rows, columns)`; elements given twice are summed."""
    rows = len(indptr) - 1
    blocks = data.reshape(len(data), *(data.shape[1:] if data.ndim == 3 else (data.shape[1:] or (1,)) + (1,)))
    height, width = blocks.shape[1:]
    row = np.repeat(np.arange(rows), np.diff(indptr))
    count = len(row)
    out = np.zeros((rows, -(-columns // width), height, width), data.dtype)
    np.add.at(out, (row, indices[indptr[0] : indptr[0] + count]), blocks[indptr[0] : indptr[0] + count])
    return out.transpose(0, 2, 1, 3).reshape(rows * height, -1)[:, :columns]


class SparseDenseFamily(Operator):
    """The type rule of a product with a sparse matrix."""

    sparse_lhs: bool

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        dense, data = tensor(types[0], "the dense matrix"), tensor(types[1], "the sparse data")
        indptr = tensor(types[3], "indptr")
        if dense is None or data is None or indptr is None:
            return None
        if len(data.shape) not in (1, 3):
            raise RelationError(f"sparse data has rank 1 (CSR) or 3 (BSR), not {len(data.shape)} ({data})")
        if not dense.shape or not indptr.shape:
            raise RelationError("the dense matrix and indptr must not be scalars")
        rows: Dim = sub(indptr.shape[0], 1)
        if len(data.shape) == 3:
            rows = mul(rows, data.shape[1])
        shape = (rows, dense.shape[0]) if self.sparse_lhs else (dense.shape[0], rows)
        return TensorType(shape, dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        sparse = dense_form(data, indices, indptr, dense.shape[1])
        if self.sparse_lhs:
            return matmul(sparse, dense.T, dense.dtype)
        return matmul(dense, sparse.T, dense.dtype)


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
    """`nn.sparse_dense` with rows filled up with zeros to a multiple of 32 elements."""

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

    layout: str = "NHWC"
    kernel_size: tuple[int, ...] = (1, 1)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        dense, data = tensor(types[0], "the dense data"), tensor(types[1], "the sparse data")
        indptr = tensor(types[3], "indptr")
        if dense is None or data is None or indptr is None:
            return None
        if len(data.shape) not in (2, 3):
            raise RelationError(f"sparse weights have rank 2 or 3 (blocks), not {len(data.shape)} ({data})")
        if self.layout not in ("NHWC", "NCHW"):
            raise RelationError(f"layout must be NHWC or NCHW, not {self.layout}")
        require_rank(dense, 4, "the dense data")
        require_rank(indptr, 1, "indptr")
        outputs = mul(sub(indptr.shape[0], 1), data.shape[1])
        n, a, b, c = dense.shape
        return TensorType((n, a, b, outputs) if self.layout == "NHWC" else (n, outputs, b, c), dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        if tuple(self.kernel_size) != (1, 1):
            raise ValueError(f"only kernels of 1x1 have a meaning, not {self.kernel_size}")
        x = dense if self.layout == "NHWC" else dense.transpose(0, 2, 3, 1)
        y = matmul(x, dense_form(data, indices, indptr, x.shape[3]).T, dense.dtype)
        return y if self.layout == "NHWC" else np.ascontiguousarray(y.transpose(0, 3, 1, 2))


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

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TupleType | None:
        parts = [tensor(t, what) for t, what in zip(types, ("the data", "indices", "indptr"), strict=True)]
        if parts[0] is None or parts[1] is None or parts[2] is None:
            return None
        require_rank(parts[0], 1, "the data")
        require_rank(parts[1], 1, "indices")
        return TupleType(tuple(TensorType(p.shape, p.dtype) for p in parts if p is not None))

    def evaluate(
        self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = len(indptr) - 1
        order = np.argsort(indices, kind="stable")
        row = np.repeat(np.arange(rows), np.diff(indptr))
        ends = np.cumsum(np.bincount(indices, minlength=rows))
        starts = np.concatenate([[0], ends])
        return data[order], row[order].astype(indices.dtype), starts.astype(indptr.dtype)


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

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        dense, data = tensor(types[0], "the dense matrix"), tensor(types[1], "the sparse data")
        indices = tensor(types[2], "indices")
        if dense is None or data is None or indices is None:
            return None
        if dense.dtype != data.dtype:
            raise RelationError(f"the dense matrix holds {dense.dtype}, the sparse one {data.dtype}")
        require_rank(data, 1, "the sparse data")
        require_rank(indices, 1, "indices")
        return TensorType(dense.shape, dense.dtype)

    def evaluate(self, dense: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        return dense + dense_form(data, indices, indptr, dense.shape[1])
