"""Matrix products: dense, matmul, batch_matmul, and dense with packed weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim
from ...tir.dtypes import accumulator_dtype
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..shapes import compatible, maximum, mul, require_compatible, require_rank, tensor
from ..typical import extent_of, summed
from .gemm import matmul
from .partly_known import batch_product_known, one_float, product_known


def relate_matmul(
    types: Sequence[Type],
    reporter: Reporter,
    units: int | None,
    out_dtype: str,
    transpose_a: bool,
    transpose_b: bool,
    second: int = 1,
) -> TensorType | None:
    """The rule of a product of a tensor (its leading axes are rows) with a matrix, whose type `units` may give.

    `second` is the position of the matrix among the arguments.
    """
    a, b = tensor(types[0], "the first operand"), tensor(types[second], "the second operand")
    if a is None:
        return None
    need = 2 if transpose_a else 1
    if len(a.shape) < need:
        raise RelationError(f"the first operand must have rank {need} or more, not {len(a.shape)}")
    rows = list(a.shape[:-1])
    depth = a.shape[-1]
    if transpose_a:
        rows[-1], depth = a.shape[-1], a.shape[-2]
    columns: Dim
    if units is not None:
        weight_shape = (units, depth) if transpose_b else (depth, units)
        reporter.assign(second, TensorType(weight_shape, b.dtype if b else a.dtype))
        columns = units
    else:
        if b is None:
            return None
        require_rank(b, 2, "the second operand")
        columns, inner = (b.shape[0], b.shape[1]) if transpose_b else (b.shape[1], b.shape[0])
        if a.shape[-1] is not ANY and not compatible(depth, inner):
            raise RelationError(f"the first operand has {depth} columns to sum over, the second {inner}: {a} and {b}")
    return TensorType((*rows, columns), out_dtype or a.dtype)


def narrowed(total: Any, out_type: Any) -> Any:
    """A sum formed wide, as `out_type`'s dtype."""
    if total.dtype == out_type.dtype:
        return total
    return te.compute(out_type.shape, lambda *i: te.cast(total[i], out_type.dtype), name="narrow", tag="elemwise")


def product_expression(a: Any, b: Any, out_type: Any, transpose_a: bool, transpose_b: bool, tag: str) -> Any:
    """The tensor expression of a product of a tensor with a matrix."""
    wide = accumulator_dtype(out_type.dtype)
    k = te.reduce_axis(a.shape[-2 if transpose_a else -1], name="k")

    def element(*i: Any) -> Any:
        left = (*i[:-2], k, i[-2]) if transpose_a else (*i[:-1], k)
        right = (i[-1], k) if transpose_b else (k, i[-1])
        return te.sum(te.cast(a[left], wide) * te.cast(b[right], wide), axis=k)

    name = "T_dense" if tag == "dense" else f"T_{tag}{_transposed(transpose_a, transpose_b)}"
    return narrowed(te.compute(out_type.shape, element, name=name, tag=tag), out_type)


class Product(Operator):
    """The common part of products of matrices."""

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        batches = extent_of(types[1], 0) if isinstance(self, BatchMatmul) else 1
        columns = extent_of(out, -1)
        return (None, summed(types[1], batches * columns if batches and columns else None))


def _transposed(a: bool, b: bool) -> str:
    """`_NT` where only the second operand is transposed, and so on."""
    return f"_{'NT'[a]}{'NT'[b]}"


@operator("nn.matmul", "tensor_a", "tensor_b", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="MatmulAttrs", level=1)
@dataclass(frozen=True)
class Matmul(Product):
    """`a @ b` of a tensor `(…, M, K)` and a matrix `(K, units)`, either of them stored transposed on request."""

    sums_in = "out_dtype"

    units: int | None
    out_dtype: DType = VOID
    transpose_a: bool = False
    transpose_b: bool = False

    dtype_attribute = "out_dtype"
    one_dtype = ("tensor_a", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """`(…, M, K)` and `(K, N)`, stored as the attributes say, give `(…, M, N)`; with `units` the data give the
        weights their type.
        """
        return relate_matmul(types, reporter, self.units, self.out_dtype, self.transpose_a, self.transpose_b)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return product_known(args, out, self.units, self.transpose_a, self.transpose_b)

    def presume_dtypes(self, args: Sequence[Any], out: Any) -> list[Any]:
        return one_float(args)

    def evaluate(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a = a.swapaxes(-1, -2) if self.transpose_a else a
        return matmul(a, b.T if self.transpose_b else b, self.out_dtype or a.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        a, b = inputs
        return product_expression(a, b, out_type, self.transpose_a, self.transpose_b, tag="matmul")


@operator("nn.dense", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="DenseAttrs", level=1)
@dataclass(frozen=True)
class Dense(Product):
    """`data @ weight.T`: data `(…, K)`, weights `(units, K)`, result `(…, units)`."""

    precision = "always"
    narrowed_attribute = "out_dtype"

    units: int | None
    out_dtype: DType = VOID

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Data `(…, K)` and weights `(units, K)` give `(…, units)`; with `units` the data give the weights their type."""
        return relate_matmul(types, reporter, self.units, self.out_dtype, False, True)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return product_known(args, out, self.units, False, True)

    def presume_dtypes(self, args: Sequence[Any], out: Any) -> list[Any]:
        return one_float(args)

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return matmul(data, weight.T, self.out_dtype or data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        return product_expression(data, weight, out_type, False, True, tag="dense")


# TVM declares DenseAttrs here and uses DensePackAttrs, so its printer refers to the attributes by metadata.
@operator(
    "nn.contrib_dense_pack",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="DensePackAttrs",
    declares_attrs=False,
)
@dataclass(frozen=True)
class DensePack(Product):
    """`nn.dense` with weights packed in blocks of columns, `(units / n, K, n)`, the layout `NC8n`.

    Weights of rank 4, `(units / n, K / c, n, c)`, are the layout `NC16n4c`.
    """

    no_gradient = "weights are packed when a network is built; nn.dense has one"

    units: int | None
    out_dtype: DType = VOID
    weight_layout: str = "NC"

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Data `(M, K)` and weights packed by columns give `(M, units)`; `out_dtype` or the data's dtype."""
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None or weight is None:
            return None
        require_rank(data, 2, "the data")
        if len(weight.shape) not in (3, 4):
            raise RelationError(f"packed weights have rank 3 or 4, not {len(weight.shape)} ({weight})")
        depth = mul(weight.shape[1], weight.shape[3]) if len(weight.shape) == 4 else weight.shape[1]
        require_compatible(data.shape[1], depth, "the numbers of columns that data and weights sum over")
        return TensorType((data.shape[0], mul(weight.shape[0], weight.shape[2])), self.out_dtype or data.dtype)

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if weight.ndim == 4:
            blocks, n = weight.shape[0], weight.shape[2]
            columns = weight.transpose(1, 3, 0, 2).reshape(weight.shape[1] * weight.shape[3], blocks * n)
        else:
            columns = weight.transpose(1, 0, 2).reshape(weight.shape[1], weight.shape[0] * weight.shape[2])
        return matmul(data, columns, self.out_dtype or data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        wide = accumulator_dtype(out_type.dtype)
        tile = weight.shape[2]
        k = te.reduce_axis(data.shape[1], name="k")

        def element(i: Any, j: Any) -> Any:
            index: tuple[Any, ...] = (te.floordiv(j, tile), k, te.floormod(j, tile))
            if weight.ndim == 4:
                inner = weight.shape[3]
                index = (
                    te.floordiv(j, tile),
                    te.floordiv(k, inner),
                    te.floormod(j, tile),
                    te.floormod(k, inner),
                )
            return te.sum(te.cast(data[i, k], wide) * te.cast(weight[index], wide), axis=k)

        return narrowed(te.compute(out_type.shape, element, name="dense_pack", tag="dense_pack"), out_type)


def relate_batch_matmul(
    types: Sequence[Type], out_dtype: str, transpose_a: bool, transpose_b: bool
) -> TensorType | None:
    """The rule of a batch of matrix products; a batch of one serves all of the other's."""
    a, b = tensor(types[0], "the first operand"), tensor(types[1], "the second operand")
    if a is None or b is None:
        return None
    require_rank(a, 3, "the first operand")
    require_rank(b, 3, "the second operand")
    rows, depth = (a.shape[2], a.shape[1]) if transpose_a else (a.shape[1], a.shape[2])
    columns, inner = (b.shape[1], b.shape[2]) if transpose_b else (b.shape[2], b.shape[1])
    x, y = a.shape[0], b.shape[0]
    if ANY not in (*a.shape, *b.shape):
        if not (compatible(x, y) or compatible(x, 1) or compatible(y, 1)):
            raise RelationError(f"the batches {x} and {y} of {a} and {b} differ, and neither is 1")
        if not compatible(depth, inner):
            raise RelationError(f"the first operand has {depth} columns to sum over, the second {inner}: {a} and {b}")
    empty = any(isinstance(d, int) and d == 0 for d in (x, y))  # one matrix for each of none
    return TensorType((0 if empty else maximum(x, y), rows, columns), out_dtype or a.dtype)


@operator(
    "nn.batch_matmul", "tensor_a", "tensor_b", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="BatchMatmulAttrs", level=10
)
@dataclass(frozen=True)
class BatchMatmul(Product):
    """`a[i] @ b[i]` for each `i`: `(B, M, K)` and `(B, K, N)`, either stored transposed on request; a batch may be 1."""

    precision = "always"
    narrowed_attribute = "out_dtype"

    out_dtype: DType = VOID
    transpose_a: bool = False
    transpose_b: bool = False

    dtype_attribute = "out_dtype"
    one_dtype = ("tensor_a", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """`(batch, M, K)` and `(batch, K, N)`, stored as the attributes say, give `(batch, M, N)`; a batch of 1 serves
        all.
        """
        return relate_batch_matmul(types, self.out_dtype, self.transpose_a, self.transpose_b)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return batch_product_known(args, out, self.transpose_a, self.transpose_b)

    def presume_dtypes(self, args: Sequence[Any], out: Any) -> list[Any]:
        return one_float(args)

    def evaluate(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out_dtype = self.out_dtype or a.dtype
        a = a.swapaxes(1, 2) if self.transpose_a else a
        return matmul(a, b.swapaxes(1, 2) if self.transpose_b else b, out_dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        a, b = inputs
        wide = accumulator_dtype(out_type.dtype)
        k = te.reduce_axis(a.shape[1 if self.transpose_a else 2], name="k")

        def element(n: Any, i: Any, j: Any) -> Any:
            left = (n if a.shape[0] != 1 else 0, *((k, i) if self.transpose_a else (i, k)))
            right = (n if b.shape[0] != 1 else 0, *((j, k) if self.transpose_b else (k, j)))
            return te.sum(te.cast(a[left], wide) * te.cast(b[right], wide), axis=k)

        name = f"T_batch_matmul{_transposed(self.transpose_a, self.transpose_b)}"
        return narrowed(te.compute(out_type.shape, element, name=name, tag="batch_matmul"), out_type)
