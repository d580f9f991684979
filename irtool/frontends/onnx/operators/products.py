"""Products of matrices: `MatMul`, `Gemm`, `Einsum`."""

from __future__ import annotations

import math
from typing import TypeGuard

from ....diagnostics import IrError
from ....ir import Call, Dim, Expr, TensorType, Tuple
from ....ops.base import is_call_to
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..reshaping import reshaped
from ..value import Value, apply


def matrix_product(a: Value, b: Value) -> Value:
    """`a @ b` of a tensor `(…, M, K)` and a matrix `(K, N)`, which is stored transposed if a build knows it.

    So is one that is dequantized: there is no integer form of other products. A matrix that is transposed here is stored as it is
    without that, and stays one with what else reads it, as the table of an embedding.
    """
    b.require_rank(2, "the right operand of a product")
    is_stored = b.is_weight or is_transposed(b.expr) or is_call_to(b.expr, "qnn.dequantize", "qnn.dequantize_blocks")
    return dense(a, transposed(b)) if is_stored else a.call("nn.matmul", b, units=_known(b.shape[1]))


def dense(a: Value, weights: Value) -> Value:
    """The product of a tensor `(…, K)` and the transpose of weights `(N, K)`."""
    weights.require_rank(2, "the right operand of a product")
    return a.call("nn.dense", weights, units=_known(weights.shape[0]))


def transposed(b: Value) -> Value:
    """The transpose of a matrix; the operand of a transpose."""
    b.require_rank(2, "a matrix that is transposed")
    if is_transposed(b.expr):
        return Value.of(b.expr.args[0])
    return b.call("transpose", axes=[1, 0])


def is_transposed(e: Expr) -> TypeGuard[Call]:
    """True for the transpose of a matrix."""
    if not is_call_to(e, "transpose"):
        return False
    axes = e.attrs.axes  # type: ignore[union-attr]  # an operator's
    t = e.checked_type
    return isinstance(t, TensorType) and len(t.shape) == 2 and (axes is None or [a % 2 for a in axes] == [1, 0])


@onnx_operator("MatMul")
class MatMul(OnnxOperator):
    """The product of matrices as in numpy: vectors are rows or columns, leading axes broadcast."""

    @since(1, 9, 13)
    def product(self, a: Value, b: Value) -> Result:
        if not a.rank or not b.rank:
            raise IrError("a scalar is no matrix", code=DamagedModel)
        row, column = a.rank == 1, b.rank == 1
        a = a.call("expand_dims", axis=0) if row else a
        b = b.call("expand_dims", axis=1) if column else b
        product = self._matrices(a, b)
        squeezed = [product.rank - 2] * row + [product.rank - 1] * column
        return product.call("squeeze", axis=squeezed) if squeezed else product

    def _matrices(self, a: Value, b: Value) -> Value:
        if b.rank > 2 and all(d == 1 for d in b.shape[:-2]) and a.rank >= b.rank:
            b = b.call("squeeze", axis=list(range(b.rank - 2)))
        if b.rank == 2:
            return matrix_product(a, b)
        return batched_product(a, b)


def batched_product(a: Value, b: Value) -> Value:
    """`a[i] @ b[i]` for all i of the leading axes, which broadcast against each other; the result has these axes."""
    if a.rank == b.rank == 3:
        return a.call("nn.batch_matmul", b)
    axes = max(a.rank, b.rank) - 2
    a, b = _with_rank(a, axes + 2), _with_rank(b, axes + 2)
    ones = [all(d == 1 for d in v.shape[:-2]) for v in (a, b)]
    if not any(ones):
        a, b = _stretched(a, b), _stretched(b, a)
    product = _one_batch(a).call("nn.batch_matmul", _one_batch(b))
    around = b if ones[0] else a
    shape = (*around.shape[:-2], *product.shape[1:])
    if all(isinstance(d, int) for d in shape):
        return reshaped(product, shape)
    return product.call("reshape_like", around, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=axes)


def _with_rank(x: Value, rank: int) -> Value:
    return x if x.rank == rank else x.call("expand_dims", axis=0, num_newaxis=rank - x.rank)


def _stretched(x: Value, other: Value) -> Value:
    """The tensor with its leading axes broadcast against those of another one of its rank."""
    if all(d == o or d != 1 for d, o in zip(x.shape[:-2], other.shape[:-2], strict=True)):
        return x
    stretched = [o if d == 1 else d for d, o in zip(x.shape[:-2], other.shape[:-2], strict=True)]
    if all(isinstance(d, int) for d in (*stretched, *x.shape[-2:])):
        return x.call("broadcast_to", shape=[*stretched, *x.shape[-2:]])
    # Extents that are not known: a sum with zeros of the other one's has them.
    corner = other.call("strided_slice", begin=[0, 0], end=[1, 1], strides=[1, 1], axes=[x.rank - 2, x.rank - 1])
    return x.call("add", corner.call("zeros_like"))


def _one_batch(x: Value) -> Value:
    """The tensor with all its leading axes as one."""
    if all(isinstance(d, int) for d in x.shape[-2:]):
        lead = -1 if 0 not in x.shape else math.prod(x.extents("a")[:-2])
        return reshaped(x, [lead, *x.shape[-2:]])
    while x.rank > 3:
        x = x.call("reshape", newshape=[-3, *(0 for _ in x.shape[2:])])
    return x


@onnx_operator("Gemm")
class Gemm(OnnxOperator):
    """`alpha * a @ b + beta * c`, with `a` and `b` transposed on request."""

    @since(1, 6)
    def with_flag(
        self,
        a: Value,
        b: Value,
        c: Value,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        broadcast: int = 0,
        transA: int = 0,
        transB: int = 0,
    ) -> Result:
        return self.product(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)

    @since(7, 9, 11, 13)
    def product(
        self,
        a: Value,
        b: Value,
        c: Value | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        transA: int = 0,  # ONNX's name
        transB: int = 0,  # ONNX's name
    ) -> Result:
        a.require_rank(2, "the left operand of Gemm")
        a = transposed(a) if transA else a
        result = dense(a, b) if transB else matrix_product(a, b)
        result = _scaled(result, alpha)
        if c is None or not beta:
            return result
        c = _scaled(c, beta)
        if c.rank == 1 and c.shape == result.shape[1:]:
            return result.call("nn.bias_add", c, axis=1)
        return result.call("add", c)


def _known(extent: Dim) -> int | None:
    return extent if isinstance(extent, int) else None


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1 else x.call("multiply", Value.constant(factor, x.dtype))


@onnx_operator("Einsum")
class Einsum(OnnxOperator):
    """Products of tensors, summed over the labels that the result lacks."""

    @since(12, 28)
    def products(self, *inputs: Value, equation: str) -> Result:
        if not inputs:
            raise IrError("Einsum needs a tensor", code=DamagedModel)
        return apply("einsum", Tuple(tuple(v.expr for v in inputs)), equation=equation)
