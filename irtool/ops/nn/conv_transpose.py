"""Transposed convolutions of one, two and three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim, plain
from ..base import VOID, DType, Pattern, RelationError, Reporter, operator
from ..partial import meet_dims
from ..shapes import add, compatible, floordiv, mul, require_number, sub
from .blocks import unfilled
from .conv import Convolution, exactly
from .convolve import convolve_transposed
from .geometry import dilated, in_layout, pad_amounts, parse_layout, per_axis, per_group
from .transposed_expression import transposed_convolution

LETTERS_CHANGED = (0, 12)
"""The version that changed the letters and the default of `kernel_layout`."""


class TransposedConvolution(Convolution):
    """The common part of transposed convolutions. The canonical weights are `(C, O / groups, kernel…)`."""

    precision = "always"

    output_padding: tuple[int, ...]

    @classmethod
    def attributes_of_version(cls, attributes: dict[str, Any], version: tuple[int, ...]) -> dict[str, Any]:
        """Since 0.12 `kernel_layout` calls the channels that come in I and those that go out O, the other way round."""
        layout = attributes.get("kernel_layout")
        if version < LETTERS_CHANGED or not isinstance(layout, str):
            return attributes
        return {**attributes, "kernel_layout": layout.translate(str.maketrans("OI", "IO"))}

    def result(self, data: TensorType, shape: Sequence[Dim], channels: Dim, kernel: Sequence[Dim]) -> TensorType:
        pads = pad_amounts(self.padding, self.rank)
        strides = per_axis(self.strides, self.rank, "strides")
        dilation = per_axis(self.dilation, self.rank, "dilation")
        more = per_axis(self.output_padding, self.rank, "output_padding", 0)
        spatial: list[Dim] = []
        for i in range(self.rank):
            size = shape[2 + i]
            if isinstance(kernel[i], int):
                require_number(kernel[i], "the extent of a kernel")
            if size is not ANY:
                reach = add(mul(strides[i], sub(size, 1)), dilated(kernel[i], dilation[i]))
                size = add(sub(reach, add(*pads[i])), more[i])
            spatial.append(size)
        out = parse_layout(self.out_layout or self.data_layout, self.data_form, "out_layout")
        out_shape = in_layout((shape[0], channels, *spatial), self.data_form, out, "the result")
        return TensorType(out_shape, self.out_dtype or data.dtype)

    def relate_channels(self, data: list[Any], kernel_shape: list[Any], result: list[Any]) -> None:
        result[1] = meet_dims(result[1], self.channels, "the number of channels")
        kernel_shape[0] = data[1] = meet_dims(kernel_shape[0], data[1], "the number of input channels")
        if isinstance(kernel_shape[1], int):
            result[1] = meet_dims(result[1], plain(kernel_shape[1]) * self.groups, "the number of channels")
        elif isinstance(result[1], int):
            kernel_shape[1] = per_group(result[1], self.groups, "output")

    def spatial_known(
        self, axis: int, size: Dim | None, out: Dim | None, reach: Dim | None, pads: tuple[Dim, Dim]
    ) -> tuple[Dim | None, Dim | None]:
        stride, more = self.strides[axis], self.output_padding[axis]
        before, after = pads
        if not (isinstance(reach, int) and isinstance(before, int) and isinstance(after, int)):
            return None, None
        if not (isinstance(stride, int) and isinstance(more, int)):
            return None, None
        margin = plain(reach) - before - after + more
        forward = stride * (size - 1) + margin if isinstance(size, int) else None
        if not isinstance(out, int):
            return forward, None
        steps, rest = divmod(plain(out) - margin, stride)
        if rest or steps < 0:
            raise RelationError(f"no extent gives {out} with a stride of {stride} and a window of {reach}")
        return forward, steps + 1

    def weights_shape(self, shape: Sequence[Dim], weight: TensorType | None) -> tuple[Dim, ...]:
        assert self.kernel_size is not None and self.channels is not None
        kernel = exactly(self.kernel_size, self.rank, "kernel_size")
        exactly(self.dilation, self.rank, "dilation")
        outputs = per_group(self.channels, self.groups, "output")
        inputs = per_group(shape[1], self.groups, "input")
        if len(self.kernel_canonical()) > 2 + self.rank:
            return (self.groups, inputs, outputs, *kernel)
        return (shape[1], outputs, *kernel)

    def weights_channels(self, kernel_shape: Sequence[Dim]) -> Dim:
        return mul(kernel_shape[1], self.groups)

    def check_weights(self, shape: Sequence[Dim], kernel_shape: Sequence[Dim]) -> None:
        self.check_kernel(kernel_shape)
        per_group(shape[1], self.groups, "input")
        if self.channels is not None and not compatible(floordiv(self.channels, self.groups), kernel_shape[1]):
            raise RelationError(
                f"{self.channels} channels in {self.groups} groups are {floordiv(self.channels, self.groups)} each, "
                f"and the weights give {kernel_shape[1]}"
            )
        if shape[1] is not ANY and kernel_shape[0] is not ANY and not compatible(shape[1], kernel_shape[0]):
            raise RelationError(f"the data has {shape[1]} channels, and the weights take {kernel_shape[0]}")

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        data_layout, kernel_layout, out_layout = self.layouts()
        if (result := unfilled(self, inputs, out_type, out_layout, self.data_form)) is not None:
            return result
        return transposed_convolution(
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
        pads: Any = pad_amounts(self.padding, self.rank)
        return convolve_transposed(x, w, self.strides, pads, self.output_padding, self.dilation, self.groups, out_dtype)


@operator(
    "nn.conv1d_transpose", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv1DTransposeAttrs", level=2
)
@dataclass(frozen=True)
class Conv1DTranspose(TransposedConvolution):
    """The gradient of `nn.conv1d` by its data: data `(N, C, W)`, weights `(C, O / groups, KW)`.

    `W' = stride * (W - 1) + dilation * (KW - 1) + 1 - left - right + output_padding`. The letters of `kernel_layout` are
    those of TVM up to 0.11: `O` stands for the channels that come in and `I` for those that go out. Since 0.12 it is the
    other way round, as a text is taken to mean whose metadata section says that it is of such a version.
    """

    layout_rule = None

    data_form = "NCW"
    kernel_form = "OIW"
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    strides: tuple[int, ...] = (1,)
    output_padding: tuple[int, ...] = (0,)
    padding: tuple[int, ...] = (0,)
    dilation: tuple[int, ...] = (1,)
    groups: int = 1
    data_layout: str = "NCW"
    kernel_layout: str = "OIW"
    out_layout: str = ""
    out_dtype: DType = VOID


@operator(
    "nn.conv2d_transpose", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv2DTransposeAttrs", level=2
)
@dataclass(frozen=True)
class Conv2DTranspose(TransposedConvolution):
    """The gradient of `nn.conv2d` by its data: data `(N, C, H, W)`, weights `(C, O / groups, KH, KW)` as `IOHW`.

    A `kernel_layout` that is not given is OIHW, as up to 0.11; since 0.12 it is IOHW, which a text is taken to mean whose
    metadata section says that it is of such a version.
    """

    kernel_layouts = {"NCHW": "IOHW", "NHWC": "HWIO"}

    data_form = "NCHW"
    kernel_form = "IOHW"
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    strides: tuple[int, ...] = (1, 1)
    output_padding: tuple[int, ...] = (0, 0)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DType = VOID

    @classmethod
    def attributes_of_version(cls, attributes: dict[str, Any], version: tuple[int, ...]) -> dict[str, Any]:
        """Since 0.12 a `kernel_layout` that is not given is IOHW."""
        return attributes if version < LETTERS_CHANGED else {"kernel_layout": "IOHW", **attributes}

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As `nn.conv2d`, the other way round: each position of the data is a window of the result; `output_padding` is added.

        Data and attributes give the weights their type, or the weights say what the attributes leave open.
        """
        try:
            return super().relate(types, reporter)
        except RelationError as error:
            if self.kernel_layout != "OIHW":
                raise
            hint = 'where kernel_layout is not given it is OIHW; in texts of TVM 0.12 and later it is "IOHW", to be written out'
            raise RelationError(f"{error} ({hint})") from None


@operator(
    "nn.conv3d_transpose", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Conv3DTransposeAttrs", level=2
)
@dataclass(frozen=True)
class Conv3DTranspose(TransposedConvolution):
    """The gradient of `nn.conv3d` by its data; the letters of `kernel_layout` are read as in `nn.conv1d_transpose`."""

    kernel_layouts = {"NCDHW": "OIDHW", "NDHWC": "DHWIO"}

    data_form = "NCDHW"
    kernel_form = "OIDHW"
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    strides: tuple[int, ...] = (1, 1, 1)
    output_padding: tuple[int, ...] = (0, 0, 0)
    padding: tuple[int, ...] = (0, 0, 0)
    dilation: tuple[int, ...] = (1, 1, 1)
    groups: int = 1
    data_layout: str = "NCDHW"
    kernel_layout: str = "OIDHW"
    out_layout: str = ""
    out_dtype: DType = VOID
