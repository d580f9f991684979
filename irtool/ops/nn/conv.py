"""Convolutions of one, two and three spatial axes, in every layout that is a permutation or a split of `NCHW`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert
from ..partial import meet, meet_dims, permuted, window_input
from ..shapes import add, compatible, mul, tensor
from ..typical import summed
from .blocks import unfilled
from .conv_expression import convolution
from .convolve import convolve
from .geometry import dilated, in_layout, pad_amounts, parse_layout, per_axis, per_group, positions
from .partly_known import one_float


class Convolution(Operator):
    """The common part of all convolutions: the geometry of the result and the types of the weights.

    `data_form` and `kernel_form` are the layouts that the rule thinks in; the attributes say how tensors are stored.
    """

    narrowed_attribute = "out_dtype"
    layout_rule: ClassVar[str | None] = "convolution"

    data_form: ClassVar[str]
    kernel_form: ClassVar[str]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    channels: int | None
    kernel_size: tuple[int, ...] | None
    data_layout: str
    kernel_layout: str
    out_layout: str
    out_dtype: DType

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.data_form) - 2

    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """Of data, weights and result; RelationError where one is not a layout of such a tensor."""
        return (
            parse_layout(self.data_layout, self.data_form, "data_layout"),
            parse_layout(self.kernel_layout, self.kernel_canonical(), "kernel_layout"),
            parse_layout(self.out_layout or self.data_layout, self.data_form, "out_layout"),
        )

    def kernel_canonical(self) -> str:
        """The layout that weights are brought to; with `G` in front where they are stored group by group."""
        grouped = self.groups > 1 and "G" in self.kernel_layout
        return "G" + self.kernel_form if grouped else self.kernel_form

    def result(self, data: TensorType, shape: Sequence[Dim], channels: Dim, kernel: Sequence[Dim]) -> TensorType:
        """The type of the result for canonical data of `shape` and a kernel of extents `kernel`."""
        pads = pad_amounts(self.padding, self.rank)
        strides = per_axis(self.strides, self.rank, "strides")
        dilation = per_axis(self.dilation, self.rank, "dilation")
        spatial = [
            positions(shape[2 + i], add(*pads[i]), dilated(kernel[i], dilation[i]), strides[i])
            for i in range(self.rank)
        ]
        out = parse_layout(self.out_layout or self.data_layout, self.data_form, "out_layout")
        out_shape = in_layout((shape[0], channels, *spatial), self.data_form, out, "the result")
        return TensorType(out_shape, self.out_dtype or data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        """Convolutions, plain and transposed: batch and channels of data and result, weights, and spatial extents.

        Backwards, an extent follows from the result's where the stride leaves only one, and input channels follow from the
        weights if there is one group (of several, where each has one channel). Nothing is said of layouts in blocks.
        """
        form, held_form = self.data_form, self.kernel_canonical()
        out_layout = self.out_layout or self.data_layout
        if sorted(self.data_layout) != sorted(form) or sorted(out_layout) != sorted(form):
            return list(args), out
        if sorted(self.kernel_layout) != sorted(held_form) or len(held_form) != len(form):
            return list(args), out
        nothing: tuple[Dim | None, ...] = (None,) * len(form)
        data = list(permuted(meet(args[0], nothing), self.data_layout, form) or ())
        kernel_shape = list(permuted(meet(args[1], nothing), self.kernel_layout, held_form) or ())
        result = list(permuted(meet(out, nothing), out_layout, form) or ())
        axes = [held_form.index(c) for c in held_form if c not in "OI"]
        for n, axis in enumerate(axes):
            size = self.kernel_size[n] if self.kernel_size is not None and n < len(self.kernel_size) else None
            kernel_shape[axis] = meet_dims(kernel_shape[axis], size, "the extent of the kernel")
        self.relate_channels(data, kernel_shape, result)
        data[0] = result[0] = meet_dims(data[0], result[0], "the batch")
        pads = pad_amounts(self.padding, self.rank)
        for n, axis in enumerate(axes):
            kernel = kernel_shape[axis]
            reach = None if kernel is None else dilated(kernel, self.dilation[n])
            forward, back = self.spatial_known(n, data[2 + n], result[2 + n], reach, pads[n])
            data[2 + n] = meet_dims(data[2 + n], back, "a spatial extent of the data")
            result[2 + n] = meet_dims(result[2 + n], forward, "a spatial extent of the result")
        return [
            permuted(tuple(data), form, self.data_layout),
            permuted(tuple(kernel_shape), held_form, self.kernel_layout),
            *args[2:],
        ], permuted(tuple(result), form, out_layout)

    def relate_channels(self, data: list[Any], kernel_shape: list[Any], result: list[Any]) -> None:
        """Fills in channels of canonical shapes of data, weights and result that follow from each other."""
        result[1] = meet_dims(result[1], self.channels, "the number of channels")
        if self.groups == 1:
            kernel_shape[0] = result[1] = meet_dims(kernel_shape[0], result[1], "the number of channels")
            kernel_shape[1] = data[1] = meet_dims(kernel_shape[1], data[1], "the number of input channels")
        elif kernel_shape[1] == 1 and self.rank > 1:
            # One channel a group, whether or not that makes it depthwise.
            data[1] = meet_dims(data[1], self.groups, "the number of input channels")

    def spatial_known(
        self, axis: int, size: Dim | None, out: Dim | None, reach: Dim | None, pads: tuple[Dim, Dim]
    ) -> tuple[Dim | None, Dim | None]:
        """The extent of the result and that of the data along a spatial axis, each as far as the other decides it."""
        stride = self.strides[axis]
        forward = None
        if isinstance(size, int) and isinstance(reach, int) and all(isinstance(d, int) for d in pads):
            forward = positions(size, add(*pads), reach, stride)
        return forward, window_input(out, reach, stride, pads)

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        if not isinstance(out, TensorType):
            return ()
        shape = in_layout(out.shape, self.layouts()[2], self.data_form, "the result")
        return (None, summed(types[1], shape[1]))

    def presume_dtypes(self, args: Sequence[Any], out: Any) -> list[Any]:
        return one_float(args)

    def weights_shape(self, shape: Sequence[Dim], weight: TensorType | None) -> tuple[Dim, ...]:
        """The canonical shape of the weights, from `channels` and `kernel_size`."""
        assert self.kernel_size is not None and self.channels is not None
        kernel = exactly(self.kernel_size, self.rank, "kernel_size")
        exactly(self.dilation, self.rank, "dilation")
        if len(self.kernel_canonical()) > 2 + self.rank:
            outputs = per_group(self.channels, self.groups, "output")
            return (self.groups, outputs, self.input_channels(shape), *kernel)
        if self.groups > 1 and self._is_depthwise(shape, weight):
            return (shape[1], per_group(self.channels, self.groups, "output"), *kernel)
        per_group(self.channels, self.groups, "output")
        return (self.channels, per_group(shape[1], self.groups, "input"), *kernel)

    def _is_depthwise(self, shape: Sequence[Dim], weight: TensorType | None) -> bool:
        """One filter per channel, with the multiplier in the place of the input channels."""
        if weight is None:
            return False
        kernel_shape = in_layout(weight.shape, self.layouts()[1], self.kernel_canonical(), "the weights")
        return shape[1] == self.groups and kernel_shape[0] == self.groups

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """Batch, channels and the numbers of window positions in `out_layout`; data and attributes give the weights
        their type, or the weights say what the attributes leave open. `out_dtype` or the data's dtype.
        """
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None:
            return None
        data_layout, kernel_layout, _ = self.layouts()
        shape = in_layout(data.shape, data_layout, self.data_form, "the data")
        self.require_weights(weight)
        if self.kernel_size is not None and self.channels is not None:
            kernel_shape = self.weights_shape(shape, weight)
            stored = in_layout(kernel_shape, self.kernel_canonical(), kernel_layout, "the weights")
            reporter.assign(1, TensorType(stored, weight.dtype if weight else data.dtype))
            return self.result(data, shape, self.channels, self.kernel_size)
        if weight is None:
            return None
        kernel_shape = in_layout(weight.shape, kernel_layout, self.kernel_canonical(), "the weights")
        if len(kernel_shape) > 2 + self.rank:
            kernel_shape = (mul(kernel_shape[0], kernel_shape[1]), *kernel_shape[2:])
        self.check_weights(shape, kernel_shape)
        return self.result(data, shape, self.weights_channels(kernel_shape), kernel_shape[2:])

    def weights_channels(self, kernel_shape: Sequence[Dim]) -> Dim:
        """The number of result channels of canonical weights of shape `kernel_shape`."""
        return kernel_shape[0]

    def require_weights(self, weight: TensorType | None) -> None:
        """RelationError where the rule cannot do without the type of the weights."""

    def check_weights(self, shape: Sequence[Dim], kernel_shape: Sequence[Dim]) -> None:
        """RelationError where weights of canonical shape `kernel_shape` do not fit the attributes or the data."""
        self.check_kernel(kernel_shape)
        per_group(kernel_shape[0], self.groups, "output")
        if self.channels is not None and not compatible(self.channels, kernel_shape[0]):
            raise RelationError(f"channels is {self.channels}, and the weights give {kernel_shape[0]} channels")
        if (
            shape[1] is not ANY
            and kernel_shape[1] is not ANY
            and not compatible(self.input_channels(shape), kernel_shape[1])
        ):
            raise RelationError(
                f"{shape[1]} input channels in {self.groups} groups are {self.input_channels(shape)} each, "
                f"and the weights take {kernel_shape[1]}"
            )

    def check_kernel(self, kernel_shape: Sequence[Dim]) -> None:
        """RelationError where `kernel_size` is given and differs from the weights' extents."""
        if self.kernel_size is not None:
            for i, k in enumerate(exactly(self.kernel_size, self.rank, "kernel_size")):
                if not compatible(k, kernel_shape[2 + i]):
                    raise RelationError(
                        f"kernel_size[{i}] is {k}, and the weights are {kernel_shape[2 + i]} wide there"
                    )

    def input_channels(self, shape: Sequence[Dim]) -> Dim:
        """Input channels of one group."""
        return per_group(shape[1], self.groups, "input")

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        data_layout, kernel_layout, out_layout = self.layouts()
        x = convert(data, data_layout, self.data_form)
        w = convert(weight, kernel_layout, self.kernel_canonical())
        if w.ndim > x.ndim:
            w = w.reshape(w.shape[0] * w.shape[1], *w.shape[2:])
        y = self.convolve_canonical(x, w, self.out_dtype or data.dtype)
        return convert(y, self.data_form, out_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        data_layout, kernel_layout, out_layout = self.layouts()
        if (result := unfilled(self, inputs, out_type, out_layout, self.data_form)) is not None:
            return result
        return convolution(
            data,
            weight,
            out_type,
            form=self.data_form,
            kernel_form=self.kernel_canonical(),
            data_layout=data_layout,
            kernel_layout=kernel_layout,
            out_layout=out_layout,
            strides=self.strides,
            pads=pad_amounts(self.padding, self.rank),
            dilation=self.dilation,
            groups=self.groups,
        )

    def convolve_canonical(self, x: np.ndarray, w: np.ndarray, out_dtype: Any) -> np.ndarray:
        """The convolution of canonical data with canonical weights."""
        if self.groups > 1 and self.groups == x.shape[1] == w.shape[0]:
            w = w.reshape(w.shape[0] * w.shape[1], 1, *w.shape[2:])  # one filter per channel and multiplier
        pads = pad_amounts(self.padding, self.rank)
        return convolve(x, w, self.strides, pads, self.dilation, self.groups, out_dtype)


def exactly(values: Sequence[int], rank: int, what: str) -> Sequence[int]:
    """The values; RelationError unless there are `rank` of them."""
    if len(values) != rank:
        raise RelationError(f"{what} has {len(values)} numbers; it takes {rank}")
    return values


@operator("nn.conv1d", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv1DAttrs", level=2)
@dataclass(frozen=True)
class Conv1D(Convolution):
    """Convolution along one axis: data `(N, C, W)`, weights `(O, C / groups, KW)`, result `(N, O, W')`."""

    precision = "always"

    data_form = "NCW"
    kernel_form = "OIW"
    strides: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1,)
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCW"
    kernel_layout: str = "OIW"
    out_layout: str = ""
    out_dtype: DType = VOID

    def _is_depthwise(self, shape: Sequence[Dim], weight: TensorType | None) -> bool:
        return False


@operator("nn.conv2d", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv2DAttrs", level=2)
@dataclass(frozen=True)
class Conv2D(Convolution):
    """Convolution of images: data `(N, C, H, W)`, weights `(O, C / groups, KH, KW)`, result `(N, O, H', W')`.

    With `groups` equal to the number of channels and `O` equal to it, the second axis of the weights is the channel
    multiplier: a depthwise convolution. `H' = (H + top + bottom - dilation * (KH - 1) - 1) // stride + 1`.
    """

    precision = "always"
    kernel_layouts = {"NCHW": "OIHW", "NHWC": "HWIO", "HWNC": "HWOI"}
    depthwise_kernel_layouts = {"NHWC": "HWOI"}

    data_form = "NCHW"
    kernel_form = "OIHW"
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

    def require_weights(self, weight: TensorType | None) -> None:
        if self.groups > 1 and weight is None:
            raise RelationError(f"the weights need a type where groups is not 1 (it is {self.groups})")


@operator(
    "nn.contrib_depthwise_conv2d_NCHWc",
    "data",
    "weight",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="Conv2DAttrs",
    level=10,
)
@dataclass(frozen=True)
class DepthwiseConv2DNCHWc(Conv2D):
    """Depthwise `nn.conv2d` on channels stored in blocks (`NCHW8c`), weights as `OIHW1i8o`."""

    precision = ""
    kernel_layouts = {}


@operator("nn.conv3d", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv3DAttrs", level=2)
@dataclass(frozen=True)
class Conv3D(Convolution):
    """Convolution of volumes: data `(N, C, D, H, W)`, weights `(O, C / groups, KD, KH, KW)`."""

    precision = "always"
    kernel_layouts = {"NCDHW": "OIDHW", "NDHWC": "DHWIO"}

    data_form = "NCDHW"
    kernel_form = "OIDHW"
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

    def _is_depthwise(self, shape: Sequence[Dim], weight: TensorType | None) -> bool:
        return False


class PackedConvolution(Convolution):
    """A convolution whose weights a layout pass has packed: their shape is not looked at, so `channels` and `kernel_size`
    must say all."""

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return list(args), out

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As the plain convolution, by `channels` and `kernel_size`: the packed weights' shape takes no part."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        data_layout, _, _ = self.layouts()
        shape = in_layout(data.shape, data_layout, self.data_form, "the data")
        if self.kernel_size is None or self.channels is None:
            raise RelationError("channels and kernel_size must be given")
        exactly(self.dilation, self.rank, "dilation")
        return self.result(data, shape, self.channels, exactly(self.kernel_size, self.rank, "kernel_size"))


@operator("nn.contrib_conv2d_NCHWc", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv2DAttrs")
@dataclass(frozen=True)
class Conv2DNCHWc(PackedConvolution, Conv2D):
    """`nn.conv2d` on channels stored in blocks (`NCHW16c`), weights packed as `OIHW16i16o`."""

    precision = ""
    kernel_layouts = {}

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As the plain convolution, by `channels` and `kernel_size`, which the packed weights hold, too."""
        tensor_type = super().relate(types, reporter)
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if tensor_type is not None and data is not None and weight is not None:
            data_layout, kernel_layout, _ = self.layouts()
            shape = in_layout(data.shape, data_layout, self.data_form, "the data")
            self.check_weights(shape, in_layout(weight.shape, kernel_layout, self.kernel_canonical(), "the weights"))
        return tensor_type
