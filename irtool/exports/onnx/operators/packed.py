"""Forms that a target has its weights packed for, back on plain weights."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ....deferred import np
from ....ir import Expr
from ....ops.base import call
from ....ops.nn.conv_gemm import are_transposed
from ....ops.nn.winograd import transforms_depth
from ....ops.nn.winograd_transform import matrices, restoring_matrix
from ....passes.core.constants import array_constant, scalar_constant
from ....passes.legalization.rule import LegalizationSite
from ..form import Absent, Expansion, expanded, form, row
from .conv import attributes, relayout


@expanded("`nn.dense` on the weights, transposed and reshaped", "nn.contrib_dense_pack")
def dense_pack(s: LegalizationSite) -> Expr:
    attrs: Any = s.attrs
    x, w = s.args
    plain = relayout(w, attrs.weight_layout, "NC")
    return call("nn.dense", x, plain, units=attrs.units, out_dtype=attrs.out_dtype, span=s.call.span)


@expanded("`Transpose`, `Pad`, `Reshape` of the weights", "nn.contrib_conv2d_gemm_weight_transform")
def gemm_weights(s: LegalizationSite) -> Expr:
    height, width, depth, units = s.shape(0)
    n, k, multiple, transposed = s.attrs.tiles(s.tensor(0).dtype)
    inner = height * width * depth
    rows, columns = -(-units // n), -(-inner // multiple) * multiple // k
    flat = call("transpose", call("reshape", s.args[0], newshape=(inner, units)), axes=(1, 0))
    widths = ((0, rows * n - units), (0, columns * k - inner))
    padded = call("nn.pad", flat, scalar_constant(0, s.tensor(0).dtype), pad_width=widths)
    tiles = call("reshape", padded, newshape=(rows, n, columns, k))
    return call("transpose", tiles, axes=(0, 2, 1, 3) if transposed else (0, 2, 3, 1))


@expanded("`nn.conv2d` on the weights, taken out of their tiles", "nn.contrib_conv2d_gemm_without_weight_transform")
def gemm_convolution(s: LegalizationSite) -> Expr:
    attrs: Any = s.attrs
    x, w = s.args
    layout = attrs.data_layout
    depth = s.shape(0)[layout.index("C")] // attrs.groups
    kernel = tuple(int(k) for k in attrs.kernel_size)
    shape = s.shape(1)
    if not are_transposed(shape, attrs.channels, depth * kernel[0] * kernel[1], s.tensor(0).dtype):
        w = call("transpose", w, axes=(0, 1, 3, 2))
        shape = (shape[0], shape[1], shape[3], shape[2])
    rows, columns, n, k = shape
    matrix = call("reshape", call("transpose", w, axes=(0, 2, 1, 3)), newshape=(rows * n, columns * k))
    used = call(
        "strided_slice",
        matrix,
        begin=(0, 0),
        end=(attrs.channels, depth * kernel[0] * kernel[1]),
        strides=(1, 1),
        axes=None,
    )
    weights = call("reshape", used, newshape=(attrs.channels, *kernel, depth))
    return call("nn.conv2d", x, weights, span=s.call.span, **attributes(attrs, kernel_layout="OHWI"))


@expanded(
    "`MatMul` with the matrix of Winograd's transform along each axis",
    "nn.contrib_conv2d_winograd_weight_transform",
    "nn.contrib_conv3d_winograd_weight_transform",
)
def winograd_weights(s: LegalizationSite) -> Expr:
    shape = s.shape(0)
    w, moved = s.args[0], []
    for axis in range(2, len(shape)):
        if len(shape) == 4 or axis > 2 or transforms_depth(shape[2]):
            w = _along(w, matrices(s.attrs.tile_size, shape[axis])[2], axis, len(shape))
            moved.append(axis)
    rest = [a for a in range(2, len(shape)) if a not in moved]
    return call("transpose", w, axes=(*moved, *rest, 0, 1))


def _along(e: Expr, matrix: Any, axis: int, rank: int) -> Expr:
    """A tensor with one axis multiplied by a matrix `(new, old)`."""
    order = [*(a for a in range(rank) if a != axis), axis]
    back = [order.index(a) for a in range(rank)]
    product = call(
        "nn.matmul",
        call("transpose", e, axes=tuple(order)),
        array_constant(np.asarray(matrix, "float32"), "float32"),
        units=matrix.shape[0],
        transpose_b=True,
    )
    return call("transpose", product, axes=tuple(back))


@form("nn.contrib_conv2d_winograd_without_weight_transform", "nn.contrib_conv3d_winograd_without_weight_transform")
@dataclass(frozen=True)
class WinogradConvolution(Expansion):
    """`Conv` on the weights, `MatMul` with the inverse of Winograd's transform along each axis"""

    differs: ClassVar[str] = "weights that are the transform of none give another result"

    def expand(self, s: LegalizationSite) -> Expr:
        return _winograd_convolution(s)


def _winograd_convolution(s: LegalizationSite) -> Expr:
    attrs: Any = s.attrs
    x, w = s.args
    kernel = [int(k) for k in attrs.kernel_size]
    rank = len(kernel)
    moved = [i for i in range(rank) if rank == 2 or i > 0 or transforms_depth(kernel[0])]
    stored = [*moved, *(i for i in range(rank) if i not in moved)]
    w = call("transpose", w, axes=(rank, rank + 1, *(stored.index(i) for i in range(rank))))
    for i in moved:
        w = _along(w, restoring_matrix(attrs.tile_size, kernel[i]), 2 + i, 2 + rank)
    plain = {f.name: getattr(attrs, f.name) for f in fields(attrs) if f.name != "tile_size"}
    plain["kernel_layout"] = "OIHW" if rank == 2 else "OIDHW"
    return call(f"nn.conv{rank}d", x, w, span=s.call.span, **plain)


row(Absent("only the library NNPACK can compute it"), "nn.contrib_conv2d_winograd_nnpack_weight_transform")
row(
    Absent("ONNX counts no bits of packed words"),
    "nn.bitpack",
    "nn.bitserial_conv2d",
    "nn.bitserial_dense",
)
row(
    Absent("ONNX has blocks of 4 and 8 bits from opset 21 on, and the exporter writes none of them"),
    "qnn.dequantize_blocks",
)
row(
    Absent("ONNX has no sums of integers in blocks with a scale for each"),
    "qnn.dense_blocks",
    "qnn.quantize_blocks",
)
row(
    Absent("a gradient for training; ONNX has no counterpart among its operators"),
    "nn.avg_pool2d_grad",
    "nn.max_pool2d_grad",
    "nn.conv2d_backward_weight",
)
row(
    Absent("ONNX has no products of compressed sparse rows"),
    "nn.internal.sparse_dense_padded",
    "nn.sparse_add",
    "nn.sparse_conv2d",
    "nn.sparse_dense",
    "nn.sparse_transpose",
    "sparse_fill_empty_rows",
    "sparse_reshape",
)
row(
    Absent("it belongs to a module that is lowered already: export the module before lowering"),
    "call_lowered",
    "memory.alloc_storage",
    "memory.alloc_tensor",
    "memory.kill",
    "vm.invoke_tvm_op",
)
row(
    Absent(
        "a build puts it in the place of an operator with extents that follow from values: export the module before"
    ),
    "length.cut",
    "length.equal",
    "length.extents",
    "length.keep",
    "length.matches",
    "length.positions",
    "length.set",
    "length.slice",
    "length.steps",
    "length.write",
)
row(
    Absent("it is an instruction of one processor"),
    "contrib.ethosu.binary_elementwise",
    "contrib.ethosu.conv2d",
    "contrib.ethosu.depthwise_conv2d",
    "contrib.ethosu.identity",
    "contrib.ethosu.pooling",
    "contrib.ethosu.unary_elementwise",
)
row(Absent("only PyTorch can run its function"), "torch_op")
row(Absent("no operator of ONNX fails on purpose: export for shapes that leave the branch possible"), "onnx.impossible")
row(Absent("it stands for something in a metadata section that the text does not have"), "parser.MetaRef")
row(Absent("it simulates the choice of a scale while one is sought"), "relay.op.annotation.simulated_quantize")
