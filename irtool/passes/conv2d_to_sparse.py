"""Conv2dToSparse and Conv2dToSparse2: convolutions whose weights are sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..deferred import np
from ..diagnostics import UsageError
from ..ir import Call, Constant, Expr, Function, MissingData, Module, rewrite
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.replaced_weights import by_name, with_sparse_weights


@register_pass("Conv2dToSparse", level=4, required=("DeadCodeElimination",))
@dataclass(frozen=True)
class Conv2dToSparse(FunctionPass):
    """Replaces convolutions by sparse ones with block-sparse weights (BSR).

    ::

        nn.conv2d(%x, %w, …)      with weight_name=["w"], weight_shape=[[103, 8, 103, 17]], layout=NHWC, kernel_size=1
            ⇒  nn.sparse_conv2d(%x, %w.data, %w.indices, %w.indptr)

    `weight_shape` holds for each weight the two or three extents of its blocks, the number of indices, and of row pointers.
    """

    changes: ClassVar[str] = "interface"

    weight_name: tuple[str, ...]
    weight_shape: tuple[tuple[int, ...], ...]
    layout: str
    kernel_size: int

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        known = by_name(self.weight_name, self.weight_shape, (4, 5))

        def sparse(data: Expr, *weight: Expr) -> Call:
            return _sparse(data, weight, self.layout, self.kernel_size)

        return with_sparse_weights(function, "nn.conv2d", known, sparse)


def _sparse(data: Expr, weight: tuple[Expr, ...], layout: str, kernel_size: int) -> Call:
    return call("nn.sparse_conv2d", data, *weight, layout=layout, kernel_size=[kernel_size, kernel_size])


@register_pass("Conv2dToSparse2", level=5, required=("DeadCodeElimination",))
@dataclass(frozen=True)
class Conv2dToSparse2(FunctionPass):
    """Replaces convolutions by sparse ones if enough blocks of their constant weights are zero.

    ::

        nn.conv2d(%x, meta[relay.Constant][0], …)   ⇒  nn.sparse_conv2d(%x, blocks, indices, pointers)

    `blocksize` is the height and width of blocks of the weight as a matrix of output channels by the rest; a weight is
    converted if at least `sparsity_threshold` of its elements lie in blocks that are all zero. Only convolutions of stride 1,
    of this `layout` and `kernel_size` are looked at.
    """

    layout: str
    kernel_size: int
    blocksize: tuple[int, ...]
    sparsity_threshold: float

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if len(self.blocksize) != 2 or any(b < 1 for b in self.blocksize):
            raise UsageError(f"blocksize is a height and a width, not {list(self.blocksize)}")
        if self.layout not in ("NCHW", "NHWC"):
            raise UsageError(f"layout is NCHW or NHWC, not {self.layout}")
        return rewrite(function, lambda old, new: self._convert(new))

    def _convert(self, new: Expr) -> Expr:
        if not is_call_to(new, "nn.conv2d") or not isinstance(new, Call):
            return new
        attrs, weight = new.attrs, new.args[1]
        if (
            attrs.data_layout != self.layout
            or attrs.strides[0] != 1
            or (attrs.kernel_size or (0,))[0] != self.kernel_size
        ):
            return new
        if not isinstance(weight, Constant) or isinstance(weight.data, MissingData) or weight.dtype != "float32":
            return new
        # Rows are output channels, columns the rest in the order of the layout.
        matrix = weight.data.reshape(weight.data.shape[0], -1)
        if self.layout == "NHWC":
            matrix = weight.data.reshape(-1, weight.data.shape[-1]).T
        blocks = block_sparse(np.ascontiguousarray(matrix), *self.blocksize)
        if 1 - blocks[0].size / matrix.size < self.sparsity_threshold:
            return new
        return _sparse(new.args[0], tuple(Constant(part) for part in blocks), self.layout, self.kernel_size)


def block_sparse(matrix: np.ndarray, height: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix as its blocks that are not all zero, their column indices, and where each row of blocks starts (BSR)."""
    rows, columns = matrix.shape[0] // height, matrix.shape[1] // width
    blocks = matrix[: rows * height, : columns * width].reshape(rows, height, columns, width).transpose(0, 2, 1, 3)
    is_nonzero = blocks.reshape(rows, columns, -1).any(axis=2)
    pointers = np.concatenate([[0], np.cumsum(is_nonzero.sum(axis=1))]).astype("int32")
    return np.ascontiguousarray(blocks[is_nonzero]), np.nonzero(is_nonzero)[1].astype("int32"), pointers
