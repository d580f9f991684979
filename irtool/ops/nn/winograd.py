"""Winograd convolutions: the transform of weights, and the convolution that takes transformed weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import VOID, DType, Operator, Pattern, Reporter, operator
from ..layout import convert
from ..shapes import add, require_rank, sub, tensor
from .conv import PackedConvolution
from .convolve import convolve
from .geometry import pad_amounts
from .precision import narrow, widen
from .winograd_transform import matrices


def transform_axes(x: np.ndarray, matrix: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """`x` with `matrix` applied along each of the axes."""
    for axis in axes:
        x = np.moveaxis(np.tensordot(matrix.astype(x.dtype), x, axes=(1, axis)), 0, axis)
    return x


def untransform_weights(packed: np.ndarray, kernel: Sequence[int], tile: int, axes: Sequence[int]) -> np.ndarray:
    """The weights that `packed` was made from: each axis multiplied by the pseudo-inverse of `G`.

    `G` has full column rank, so nothing is lost but rounding.
    """
    x = packed.astype(np.float64)
    for axis, k in zip(axes, kernel, strict=True):
        inverse = np.linalg.pinv(matrices(tile, k)[2])
        x = np.moveaxis(np.tensordot(inverse, x, axes=(1, axis)), 0, axis)
    return x


class WinogradWeights(Operator):
    """Weights times `G` along each transformed axis, the transformed axes in front: `(alpha, alpha, O, I)`."""

    tile_size: int


@operator(
    "nn.contrib_conv2d_winograd_weight_transform",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ConvWinogradWeightTransformAttrs",
)
@dataclass(frozen=True)
class Conv2DWinogradWeights(WinogradWeights):
    """`G @ w @ G.T` of weights `(O, I, KH, KW)`, giving `(alpha, alpha, O, I)` with `alpha = tile_size + K - 1`."""

    tile_size: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 4, "the weights")
        alphas = [sub(add(self.tile_size, k), 1) for k in w.shape[2:]]
        return TensorType((*alphas, w.shape[0], w.shape[1]), w.dtype)

    def evaluate(self, weight: np.ndarray) -> np.ndarray:
        x = widen(weight)
        for axis in (2, 3):
            x = transform_axes(x, matrices(self.tile_size, weight.shape[axis])[2], (axis,))
        return narrow(np.ascontiguousarray(x.transpose(2, 3, 0, 1)), weight.dtype)


def transforms_depth(depth: Dim) -> bool:
    """True if the depth axis of a volume's kernel takes part in the transform."""
    return isinstance(depth, int) and 2 < depth < 8


@operator(
    "nn.contrib_conv3d_winograd_weight_transform",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ConvWinogradWeightTransformAttrs",
)
@dataclass(frozen=True)
class Conv3DWinogradWeights(WinogradWeights):
    """Weights `(O, I, KD, KH, KW)` transformed along height and width, and depth where it is 3 to 7.

    Gives `(alpha, alpha, alpha, O, I)`, or `(alpha, alpha, KD, O, I)` where depth stays as it is.
    """

    tile_size: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 5, "the weights")
        depth, height, width = (sub(add(self.tile_size, k), 1) for k in w.shape[2:])
        front = (depth, height, width) if transforms_depth(w.shape[2]) else (height, width, w.shape[2])
        return TensorType((*front, w.shape[0], w.shape[1]), w.dtype)

    def evaluate(self, weight: np.ndarray) -> np.ndarray:
        x = widen(weight)
        deep = transforms_depth(weight.shape[2])
        for axis in (2, 3, 4) if deep else (3, 4):
            x = transform_axes(x, matrices(self.tile_size, weight.shape[axis])[2], (axis,))
        order = (2, 3, 4, 0, 1) if deep else (3, 4, 2, 0, 1)
        return narrow(np.ascontiguousarray(x.transpose(order)), weight.dtype)


class WinogradConvolution(PackedConvolution):
    """A convolution with transformed weights, evaluated by taking the transform back."""

    tile_size: int

    def plain_weights(self, packed: np.ndarray, channels: int) -> np.ndarray:
        """Canonical weights, in float64."""
        raise NotImplementedError

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        data_layout, _, out_layout = self.layouts()
        x = convert(data, data_layout, self.data_form)
        out_dtype = self.out_dtype or data.dtype
        w = self.plain_weights(weight, x.shape[1])
        pads: Any = pad_amounts(self.padding, self.rank)
        y = convolve(widen(x), w.astype(widen(x).dtype), self.strides, pads, self.dilation, self.groups, out_dtype)
        return convert(y, self.data_form, out_layout)


@operator(
    "nn.contrib_conv2d_winograd_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv2DWinogradAttrs",
)
@dataclass(frozen=True, kw_only=True)
class Conv2DWinograd(WinogradConvolution):
    """`nn.conv2d` with weights that `nn.contrib_conv2d_winograd_weight_transform` has made."""

    data_form = "NCHW"
    kernel_form = "OIHW"
    tile_size: int
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DType = VOID

    def plain_weights(self, packed: np.ndarray, channels: int) -> np.ndarray:
        assert self.kernel_size is not None
        w = untransform_weights(packed, self.kernel_size, self.tile_size, (0, 1))
        return w.transpose(2, 3, 0, 1)


@operator(
    "nn.contrib_conv3d_winograd_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv3DWinogradAttrs",
)
@dataclass(frozen=True, kw_only=True)
class Conv3DWinograd(WinogradConvolution):
    """`nn.conv3d` with weights that `nn.contrib_conv3d_winograd_weight_transform` has made."""

    data_form = "NCDHW"
    kernel_form = "OIDHW"
    tile_size: int
    strides: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0)
    dilation: tuple[int, ...] = (1, 1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCDHW"
    kernel_layout: str = "OIDHW"
    out_layout: str = ""
    out_dtype: DType = VOID

    def plain_weights(self, packed: np.ndarray, channels: int) -> np.ndarray:
        assert self.kernel_size is not None
        if transforms_depth(self.kernel_size[0]):
            return untransform_weights(packed, self.kernel_size, self.tile_size, (0, 1, 2)).transpose(3, 4, 0, 1, 2)
        return untransform_weights(packed, self.kernel_size[1:], self.tile_size, (0, 1)).transpose(3, 4, 2, 0, 1)


@operator(
    "nn.contrib_conv2d_winograd_nnpack_weight_transform",
    "weight",
    pattern=Pattern.OPAQUE,
    attrs="Conv2DWinogradNNPACKWeightTransformAttrs",
    vendor=True,
)
@dataclass(frozen=True)
class Conv2DWinogradNNPACKWeights(Operator):
    """Weights `(O, I, 3, 3)` in the form `(O, I, 8, 8)` that the NNPACK library takes; only that library makes it."""

    convolution_algorithm: int
    out_dtype: DType = VOID

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 4, "the weights")
        return TensorType((w.shape[0], w.shape[1], 8, 8), self.out_dtype or w.dtype)
