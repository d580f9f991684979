"""Convolutions of `NHWC` data with weights interleaved in tiles for a matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import te
from ...ir import TensorType, Type
from ..base import Operator, Pattern, Reporter, operator
from ..layout import Layout, convert
from ..shapes import ceildiv, product, require_rank, tensor
from .conv import Conv2D, PackedConvolution
from .conv_expression import convolution
from .convolve import convolve
from .geometry import pad_amounts


@operator(
    "nn.contrib_conv2d_gemm_weight_transform",
    "weights",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ConvGemmWeightTransformAttrs",
)
@dataclass(frozen=True)
class Conv2DGemmWeights(Operator):
    """Weights `(KH, KW, I, O)`, seen as a matrix `(K, O)`, cut into transposed tiles.

    Gives `(O / tile_rows, K / tile_cols, tile_rows, tile_cols)`, filled up with zeros where the tiles do not come out
    even.
    """

    tile_rows: int
    tile_cols: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 4, "the weights")
        rows, columns = ceildiv(w.shape[3], self.tile_rows), ceildiv(product(w.shape[:3]), self.tile_cols)
        return TensorType((rows, columns, self.tile_rows, self.tile_cols), w.dtype)

    def evaluate(self, weights: np.ndarray) -> np.ndarray:
        matrix = weights.reshape(-1, weights.shape[3]).T
        rows, columns = -(-matrix.shape[0] // self.tile_rows), -(-matrix.shape[1] // self.tile_cols)
        padded = np.zeros((rows * self.tile_rows, columns * self.tile_cols), weights.dtype)
        padded[: matrix.shape[0], : matrix.shape[1]] = matrix
        tiles = padded.reshape(rows, self.tile_rows, columns, self.tile_cols)
        return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (w,) = inputs
        _, width, depth, outputs = w.shape
        rows = w.shape[0] * width * depth

        def element(i: Any, j: Any, r: Any, c: Any) -> Any:
            o, k = i * self.tile_rows + r, j * self.tile_cols + c
            at = (
                te.floordiv(k, width * depth),
                te.floormod(te.floordiv(k, depth), width),
                te.floormod(k, depth),
                o,
            )
            return te.if_then_else(te.all(o < outputs, k < rows), w[at], te.const(0, w.dtype))

        return te.compute(out_type.shape, element, name="gemm_weights", tag="injective")


@operator(
    "nn.contrib_conv2d_gemm_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv2DAttrs",
)
@dataclass(frozen=True)
class Conv2DGemm(PackedConvolution, Conv2D):
    """`nn.conv2d` with weights that `nn.contrib_conv2d_gemm_weight_transform` has made."""

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        assert self.kernel_size is not None and self.channels is not None
        data_layout, _, out_layout = self.layouts()
        x = convert(data, data_layout, "NCHW")
        depth = x.shape[1] // self.groups
        rows, columns, tile_rows, tile_cols = weight.shape
        matrix = weight.transpose(0, 2, 1, 3).reshape(rows * tile_rows, columns * tile_cols)
        kernel = tuple(self.kernel_size)
        used = matrix[: self.channels, : depth * kernel[0] * kernel[1]].reshape(self.channels, *kernel, depth)
        pads: Any = pad_amounts(self.padding, 2)
        w = used.transpose(0, 3, 1, 2)
        y = convolve(x, w, self.strides, pads, self.dilation, self.groups, self.out_dtype or data.dtype)
        return convert(y, "NCHW", out_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        assert self.kernel_size is not None and self.channels is not None
        data, weight = inputs
        data_layout, _, out_layout = self.layouts()
        depth = data.shape[data_layout.index("C")] // self.groups
        _, _, rows, columns = weight.shape
        width = self.kernel_size[1]

        def plain(o: Any, c: Any, y: Any, x: Any) -> Any:
            k = (y * width + x) * depth + c
            return weight[te.floordiv(o, rows), te.floordiv(k, columns), te.floormod(o, rows), te.floormod(k, columns)]

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
            pads=pad_amounts(self.padding, 2),  # type: ignore[arg-type]
            dilation=self.dilation,
            groups=self.groups,
        )
