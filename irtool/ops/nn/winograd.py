"""Winograd convolutions: the transform of weights, and the convolution that takes transformed weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..layout import convert
from ..relations import show_shape
from ..shapes import add, require_rank, same_shape, sub, tensor
from .blocks import unfilled
from .conv import PackedConvolution
from .convolve import output_extents, pad_spatial
from .gemm import as_dtype
from .geometry import in_layout, pad_amounts
from .precision import narrow, sums_dtype, widen
from .winograd_expression import transformed_weights, winograd_convolution
from .winograd_transform import matrices, points


def transform_axes(x: np.ndarray, matrix: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """`x` with `matrix`, in the dtype of `x`, applied along each of the axes."""
    for axis in axes:
        x = np.moveaxis(np.tensordot(narrow(matrix, x.dtype), x, axes=(1, axis)), 0, axis)
    return x


def winograd(
    x: np.ndarray, packed: np.ndarray, pads: Any, kernel: Sequence[int], tile: int, transformed: Sequence[bool]
) -> np.ndarray:
    """The convolution, of stride 1, of `(N, C, spatial…)` with weights `(alpha…, other taps…, O, C)`."""
    rank = len(kernel)
    moved = [i for i in range(rank) if transformed[i]]
    stays = [i for i in range(rank) if not transformed[i]]
    out = output_extents(x.shape[2:], kernel, (1,) * rank, pads, (1,) * rank)
    tiles = [-(-o // tile) if transformed[i] else o for i, o in enumerate(out)]
    reach = [tiles[i] * tile + kernel[i] - 1 if transformed[i] else out[i] + kernel[i] - 1 for i in range(rank)]
    fitted = [(a, r - n - a) for r, n, (a, _) in zip(reach, x.shape[2:], pads, strict=True)]
    x = pad_spatial(x, fitted)
    alphas = [tile + kernel[i] - 1 for i in moved]
    seen = np.lib.stride_tricks.sliding_window_view(x, tuple(alphas), axis=tuple(2 + i for i in moved))
    step: Any = (slice(None), slice(None), *[slice(None, None, tile if transformed[i] else 1) for i in range(rank)])
    seen = seen[step]
    for place, axis in enumerate(moved):
        seen = transform_axes(seen, matrices(tile, kernel[axis])[1].T, (2 + rank + place,))
    total: Any = 0
    for tap in product(*(range(kernel[i]) for i in stays)):
        cut: list[Any] = [slice(None)] * seen.ndim
        for axis, t in zip(stays, tap, strict=True):
            cut[2 + axis] = slice(t, t + out[axis])
        part = np.moveaxis(seen[tuple(cut)], range(2 + rank, seen.ndim), range(len(moved)))
        part = part.swapaxes(len(moved), len(moved) + 1)  # (alpha…, C, N, places…)
        index: Any = (slice(None),) * len(moved) + tap
        total = total + np.einsum("eoc,ecp->eop", *(_grouped(v, len(moved)) for v in (packed[index], part)))
    y = total.reshape(*alphas, packed.shape[-2], x.shape[0], *tiles)
    for place, axis in enumerate(moved):
        y = transform_axes(y, matrices(tile, kernel[axis])[0].T, (place,))
    # (tile…, O, N, places…) -> (N, O, places and tile interleaved…), the last tiles cut off at the edge.
    order: list[int] = [len(moved) + 1, len(moved)]
    for axis in range(rank):
        order.append(len(moved) + 2 + axis)
        if transformed[axis]:
            order.append(moved.index(axis))
    y = y.transpose(order).reshape(
        x.shape[0], packed.shape[-2], *[n * tile if transformed[i] else n for i, n in enumerate(tiles)]
    )
    return y[(slice(None), slice(None), *map(slice, out))]


def _grouped(x: np.ndarray, lead: int) -> np.ndarray:
    """The leading axes as one, the next as it is, the rest as one."""
    return x.reshape(prod(x.shape[:lead]), x.shape[lead], prod(x.shape[lead + 1 :]))


def require_tiles(tile: int, kernel: Sequence[Dim]) -> None:
    """RelationError if there is no transform for tiles of that size and one of the extents of a kernel."""
    for k in kernel:
        if isinstance(k, int):
            points(tile, int(k))


def require_numbers(t: TensorType) -> None:
    """RelationError for truth values: sums of fractions that cancel are zero only but for rounding, so never surely false."""
    if t.dtype == "bool":
        raise RelationError("Winograd's transforms are sums of fractions, which bool does not hold")


class WinogradWeights(Operator):
    """Weights times `G` along each transformed axis, the transformed axes in front: `(alpha, alpha, O, I)`."""

    no_gradient = "weights are transformed when a network is built; nn.conv2d and nn.conv3d have one"

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
        """Weights `(O, I, k, k)` give `(t, t, O, I)` with `t = tile_size + k - 1`."""
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_numbers(w)
        require_rank(w, 4, "the weights")
        require_tiles(self.tile_size, w.shape[2:])
        alphas = [sub(add(self.tile_size, k), 1) for k in w.shape[2:]]
        return TensorType((*alphas, w.shape[0], w.shape[1]), w.dtype)

    def evaluate(self, weight: np.ndarray) -> np.ndarray:
        x = widen(weight)
        for axis in (2, 3):
            x = transform_axes(x, matrices(self.tile_size, weight.shape[axis])[2], (axis,))
        return narrow(np.ascontiguousarray(x.transpose(2, 3, 0, 1)), weight.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        return transformed_weights(inputs[0], out_type, self.tile_size, (True, True))


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
        """Weights `(O, I, kd, k, k)` give tiles of `t = tile_size + k - 1` in front; the depth is a tile only where it
        is transformed.
        """
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_numbers(w)
        require_rank(w, 5, "the weights")
        require_tiles(self.tile_size, w.shape[2:] if transforms_depth(w.shape[2]) else w.shape[3:])
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

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (w,) = inputs
        return transformed_weights(w, out_type, self.tile_size, (transforms_depth(w.shape[2]), True, True))


class WinogradConvolution(PackedConvolution):
    """A convolution with transformed weights: stride and dilation must be 1, and there are no groups.

    Operands, matrices and sums are of the result's dtype (float32 for 16-bit floats), as in TVM. For an integer result they are
    all cut to integers first, as those of `nn.conv2d` are: exact with tiles of 2 and kernels of 3, whose matrices are whole.
    """

    no_gradient = "weights are transformed when a network is built; nn.conv2d and nn.conv3d have one"

    tile_size: int

    def transformed(self) -> tuple[bool, ...]:
        """For each spatial axis, whether weights are transformed along it."""
        return (True,) * self.rank

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        assert self.kernel_size is not None
        data, weight = inputs
        data_layout, _, out_layout = self.layouts()
        if (result := unfilled(self, inputs, out_type, out_layout, self.data_form)) is not None:
            return result
        return winograd_convolution(
            data,
            weight,
            out_type,
            form=self.data_form,
            data_layout=data_layout,
            out_layout=out_layout,
            pads=pad_amounts(self.padding, self.rank),
            kernel=self.kernel_size,
            tile=self.tile_size,
            transformed=self.transformed(),
        )

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As the plain convolution, by `channels` and `kernel_size`; strides, dilation and groups are 1."""
        tensor_type = super().relate(types, reporter)
        if self.groups != 1 or {*self.strides, *self.dilation} != {1}:
            raise RelationError("strides, dilation and groups must be 1")
        if self.kernel_size is not None:
            require_tiles(self.tile_size, [k for k, is_moved in zip(self.kernel_size, self.transformed()) if is_moved])
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        for t in (data, weight, tensor_type):
            if t is not None:
                require_numbers(t)
        if tensor_type is not None and data is not None and weight is not None:
            self.require_transformed(data, weight)
        return tensor_type

    def require_transformed(self, data: TensorType, weight: TensorType) -> None:
        """RelationError unless the weights are the transformed ones of `channels` and `kernel_size`."""
        assert self.kernel_size is not None and self.channels is not None
        shape = in_layout(data.shape, self.layouts()[0], self.data_form, "the data")
        moved = self.transformed()
        sides = [k + self.tile_size - 1 if m else k for k, m in zip(self.kernel_size, moved, strict=True)]
        front = [s for s, m in zip(sides, moved, strict=True) if m] + [
            s for s, m in zip(sides, moved, strict=True) if not m
        ]
        expected = (*front, self.channels, shape[1])
        if not same_shape(weight.shape, expected):
            raise RelationError(f"the transformed weights must be {show_shape(expected)}, not {weight}")

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        assert self.kernel_size is not None
        data_layout, _, out_layout = self.layouts()
        out_dtype = as_dtype(self.out_dtype or data.dtype.name)
        x, w = (narrow(v, sums_dtype(out_dtype)) for v in (convert(data, data_layout, self.data_form), weight))
        pads: Any = pad_amounts(self.padding, self.rank)
        y = winograd(x, w, pads, self.kernel_size, self.tile_size, self.transformed())
        return convert(narrow(y, out_dtype), self.data_form, out_layout)


@operator(
    "nn.contrib_conv2d_winograd_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv2DWinogradAttrs",
)
@dataclass(frozen=True, kw_only=True)
class Conv2DWinograd(WinogradConvolution):
    """`nn.conv2d` with weights transformed by `nn.contrib_conv2d_winograd_weight_transform`."""

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


@operator(
    "nn.contrib_conv3d_winograd_without_weight_transform",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv3DWinogradAttrs",
)
@dataclass(frozen=True, kw_only=True)
class Conv3DWinograd(WinogradConvolution):
    """`nn.conv3d` with weights transformed by `nn.contrib_conv3d_winograd_weight_transform`."""

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

    def transformed(self) -> tuple[bool, ...]:
        assert self.kernel_size is not None
        return (transforms_depth(self.kernel_size[0]), True, True)


@operator(
    "nn.contrib_conv2d_winograd_nnpack_weight_transform",
    "weight",
    pattern=Pattern.OPAQUE,
    attrs="Conv2DWinogradNNPACKWeightTransformAttrs",
    vendor="the NNPACK library",
)
@dataclass(frozen=True)
class Conv2DWinogradNNPACKWeights(Operator):
    """Weights `(O, I, 3, 3)` in NNPACK's form `(O, I, 8, 8)`; only the NNPACK library can compute it."""

    no_gradient = "weights are transformed when a network is built; nn.conv2d and nn.conv3d have one"

    narrowed_attribute = "out_dtype"

    convolution_algorithm: int
    out_dtype: DType = VOID

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Weights `(O, I, 3, 3)` give `(O, I, 8, 8)` of `out_dtype` or their own dtype."""
        w = tensor(types[0], "the weights")
        if w is None:
            return None
        require_rank(w, 4, "the weights")
        return TensorType((w.shape[0], w.shape[1], 8, 8), self.out_dtype or w.dtype)
