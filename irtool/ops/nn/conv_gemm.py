"""Convolutions of `NHWC` data with weights interleaved in tiles for a matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.attributes import since, until
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert
from ..shapes import ceildiv, mul, product, require_rank, tensor
from .blocks import unfilled
from .conv import Conv2D, PackedConvolution
from .conv_expression import convolution
from .convolve import convolve
from .geometry import in_layout, pad_amounts, per_group


@operator(
    "nn.contrib_conv2d_gemm_weight_transform",
    "weights",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ConvGemmWeightTransformAttrs",
)
@dataclass(frozen=True)
class Conv2DGemmWeights(Operator):
    """Weights `(KH, KW, I, O)`, seen as a matrix `(K, O)`, cut into tiles and padded with zeros to whole tiles.

    Up to 0.14 `tile_rows` and `tile_cols` give `(O / tile_rows, K / tile_cols, tile_rows, tile_cols)`, each tile
    transposed. Since 0.15 `tile_N` and `tile_K` give `(O / tile_N, K / tile_K, tile_N, tile_K)` for 8-bit weights and
    `(O / tile_N, K / tile_K, tile_K, tile_N)`, not transposed, for others; K is filled up to a multiple of 4 tiles.
    """

    no_gradient = "weights are packed when a network is built; nn.conv2d has one"

    tile_rows: int = field(default=0, metadata=until("0.14"))
    tile_cols: int = field(default=0, metadata=until("0.14"))
    tile_N: int = field(default=0, metadata=since("0.15"))
    tile_K: int = field(default=0, metadata=since("0.15"))

    def tiles(self, dtype: str) -> tuple[int, int, int, bool]:
        """Extents of a tile along O and along K, the multiple that K is padded to, and whether tiles are transposed."""
        if self.tile_rows:
            return self.tile_rows, self.tile_cols, self.tile_cols, True
        return self.tile_N, self.tile_K, 4 * self.tile_K, str(dtype) in ("int8", "uint8")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Weights of rank 4 as tiles; either `tile_rows` and `tile_cols` or `tile_N` and `tile_K` are given."""
        earlier, later = (self.tile_rows, self.tile_cols), (self.tile_N, self.tile_K)
        if sorted((earlier, later))[0] != (0, 0) or min(max(earlier, later)) < 1:
            raise RelationError("give either tile_rows and tile_cols, or tile_N and tile_K, all greater than 0")
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 4, "the weights")
        n, k, multiple, transposed = self.tiles(w.dtype)
        columns = mul(ceildiv(product(w.shape[:3]), multiple), multiple // k)
        return TensorType((ceildiv(w.shape[3], n), columns, *((n, k) if transposed else (k, n))), w.dtype)

    def evaluate(self, weights: np.ndarray) -> np.ndarray:
        n, k, multiple, transposed = self.tiles(str(weights.dtype))
        matrix = weights.reshape(-1, weights.shape[3]).T
        rows, columns = -(-matrix.shape[0] // n), -(-matrix.shape[1] // multiple) * multiple // k
        padded = np.zeros((rows * n, columns * k), weights.dtype)
        padded[: matrix.shape[0], : matrix.shape[1]] = matrix
        tiles = padded.reshape(rows, n, columns, k)
        return np.ascontiguousarray(tiles.transpose((0, 2, 1, 3) if transposed else (0, 2, 3, 1)))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (w,) = inputs
        _, width, depth, outputs = w.shape
        rows = w.shape[0] * width * depth
        n, tile_k, _, transposed = self.tiles(w.dtype)

        def element(i: Any, j: Any, r: Any, c: Any) -> Any:
            r, c = (r, c) if transposed else (c, r)
            o, k = i * n + r, j * tile_k + c
            position = (
                te.floordiv(k, width * depth),
                te.floormod(te.floordiv(k, depth), width),
                te.floormod(k, depth),
                o,
            )
            return te.if_then_else(te.all(o < outputs, k < rows), w[position], te.const(0, w.dtype))

        return te.compute(out_type.shape, element, name="gemm_weights", tag="injective")


def are_transposed(tiles: Sequence[int], outputs: int, depth: int, dtype: str) -> bool:
    """True if weights in tiles hold each tile transposed, by the extents: outputs of the convolution, K.

    Tiles that are square could be either; they are then taken to be transposed, as all were up to 0.14.
    """
    rows, columns, first, second = tiles
    as_transposed = 0 <= rows * first - outputs < first and columns * second >= depth
    as_plain = 0 <= rows * second - outputs < second and columns * first >= depth
    return as_transposed or not as_plain or dtype in ("int8", "uint8")


@operator(
    "nn.contrib_conv2d_gemm_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv2DAttrs",
)
@dataclass(frozen=True)
class Conv2DGemm(PackedConvolution, Conv2D):
    """`nn.conv2d` with weights transformed by `nn.contrib_conv2d_gemm_weight_transform`."""

    no_gradient = "weights are packed when a network is built; nn.conv2d has one"

    precision = ""
    kernel_layouts = {}

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As the plain convolution, by `channels` and `kernel_size`; the packed weights are tiles, of rank 4."""
        tensor_type = super().relate(types, reporter)
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if tensor_type is None or data is None or weight is None:
            return tensor_type
        assert self.kernel_size is not None and self.channels is not None
        require_rank(weight, 4, "the packed weights")
        per_group(self.channels, self.groups, "output")
        depth = per_group(in_layout(data.shape, self.layouts()[0], "NCHW", "the data")[1], self.groups, "input")
        elements = product(weight.shape)
        needed = mul(self.channels, product((depth, *self.kernel_size)))
        if isinstance(elements, int) and isinstance(needed, int) and elements < needed:
            raise RelationError(f"the packed weights {weight} hold fewer than the {needed} numbers that are needed")
        k, tiles = product((depth, *self.kernel_size)), [d for d in weight.shape if isinstance(d, int)]
        if isinstance(k, int) and len(tiles) == 4:
            transposed = are_transposed(tiles, self.channels, k, weight.dtype)
            rows, columns = tiles[2:] if transposed else tiles[:1:-1]
            if tiles[0] * rows < self.channels or tiles[1] * columns < k:
                raise RelationError(
                    f"the packed weights {weight} are {tiles[0] * rows} by {tiles[1] * columns} numbers, fewer than the "
                    f"{self.channels} by {k} that are needed"
                )
        return tensor_type

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        assert self.kernel_size is not None and self.channels is not None
        data_layout, _, out_layout = self.layouts()
        x = convert(data, data_layout, "NCHW")
        depth = x.shape[1] // self.groups
        kernel = tuple(self.kernel_size)
        if not are_transposed(weight.shape, self.channels, depth * math.prod(kernel), str(weight.dtype)):
            weight = weight.transpose(0, 1, 3, 2)
        rows, columns, tile_rows, tile_cols = weight.shape
        matrix = weight.transpose(0, 2, 1, 3).reshape(rows * tile_rows, columns * tile_cols)
        used = matrix[: self.channels, : depth * kernel[0] * kernel[1]].reshape(self.channels, *kernel, depth)
        pads: Any = pad_amounts(self.padding, 2)
        w = used.transpose(0, 3, 1, 2)
        y = convolve(x, w, self.strides, pads, self.dilation, self.groups, self.out_dtype or data.dtype)
        return convert(y, "NCHW", out_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        assert self.kernel_size is not None and self.channels is not None
        data, weight = inputs
        data_layout, _, out_layout = self.layouts()
        if (result := unfilled(self, inputs, out_type, out_layout, self.data_form)) is not None:
            return result
        depth = data.shape[data_layout.index("C")] // self.groups
        transposed = are_transposed(weight.shape, self.channels, depth * math.prod(self.kernel_size), weight.dtype)
        rows, columns = weight.shape[2:] if transposed else weight.shape[:1:-1]
        width = self.kernel_size[1]

        def plain(o: Any, c: Any, y: Any, x: Any) -> Any:
            k = (y * width + x) * depth + c
            inside = te.floormod(o, rows), te.floormod(k, columns)
            return weight[te.floordiv(o, rows), te.floordiv(k, columns), *(inside if transposed else inside[::-1])]

        w = te.compute((self.channels, depth, *self.kernel_size), plain, name="weights", tag="injective")
        return convolution(
            data,
            w,
            out_type,
            form="NCHW",
            kernel_form="OIHW",
            data_layout=data_layout,
            kernel_layout=Layout.parse("OIHW"),
            out_layout=out_layout,
            strides=self.strides,
            pads=pad_amounts(self.padding, 2),
            dilation=self.dilation,
            groups=self.groups,
        )
