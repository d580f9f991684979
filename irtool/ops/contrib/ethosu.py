"""Operators of Arm's Ethos-U processors: quantized tensors, laid out `NHWC` or in bricks of 16 channels, `NHCWB16`.

Activations and tables of values (`lut`) leave the types as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import TensorType, Type
from ...ir.attributes import since
from ...ir.dims import ANY, Dim
from ..base import Operator, RelationError, Reporter, operator
from ..nn.geometry import dilated, pad_amounts, positions
from ..shapes import add, ceildiv, mul, require_rank, tensor

_VENDOR = "Arm's Ethos-U processors"
_LAYOUTS = ("NHWC", "NHCWB16")
_BYTES = ("int8", "uint8")


def _one_of(value: str, accepted: Sequence[str], what: str) -> None:
    """RelationError unless the value is among those accepted."""
    if value not in accepted:
        raise RelationError(
            f"{what} must be {', '.join(accepted[:-1])}{' or ' * (len(accepted) > 1)}{accepted[-1]}, not {value}"
        )


def _rows(ifm: TensorType, layout: str) -> tuple[Dim, Dim, Dim]:
    """Batch, height and width of an input."""
    _one_of(layout, _LAYOUTS, "the layout")
    require_rank(ifm, 5 if layout == "NHCWB16" else 4, f"an input in {layout}")
    return ifm.shape[0], ifm.shape[1], ifm.shape[3 if layout == "NHCWB16" else 2]


def _laid_out(rows: Sequence[Dim], channels: Dim, layout: str) -> tuple[Dim, ...]:
    """The shape of a result of that batch, height and width."""
    _one_of(layout, _LAYOUTS, "ofm_layout")
    batch, height, width = rows
    if layout == "NHWC":
        return (batch, height, width, channels)
    return (batch, height, ceildiv(channels, 16), width, 16)


class EthosU(Operator):
    """The common part of the operators. `ifm` is an input, `ofm` the result."""

    ifm_layout: str
    ofm_layout: str

    until = "0.18"

    def windows(
        self, ifm: TensorType, kernel: Sequence[int], channels: Dim, dilation: Sequence[int], upscale: str = "NONE"
    ) -> tuple[Dim, ...]:
        """The shape after windows of that size; an input that is to be scaled up is so by 2 before."""
        attrs: Any = self
        _one_of(upscale, ("NONE", "ZEROS", "NEAREST"), "upscale")
        batch, *sizes = _rows(ifm, attrs.ifm_layout)
        dims: list[Dim] = []
        pads = pad_amounts(attrs.padding, 2)
        for size, (before, after), k, d, s in zip(sizes, pads, kernel, dilation, attrs.strides, strict=True):
            size = mul(size, 2) if upscale != "NONE" and size is not ANY else size
            dims.append(ANY if size is ANY else positions(size, add(before, after), dilated(k, d), s))
        return _laid_out((batch, *dims), channels, attrs.ofm_layout)


def _relate_convolution(
    attrs: Any, types: Sequence[Type], reporter: Reporter, upscale: str
) -> tuple[TensorType, tuple[Dim, ...]] | None:
    """The input and the result's shape of both convolutions; types of weights and packed scales follow from attributes."""
    ifm, weight, scale_bias = (tensor(t, n) for t, n in zip(types[:3], attrs.arguments, strict=False))
    if ifm is None or weight is None:
        return None
    _one_of(ifm.dtype, _BYTES, "the dtype of ifm")
    _one_of(weight.dtype, _BYTES, "the dtype of weight")
    if scale_bias is not None:
        _one_of(scale_bias.dtype, ("uint8",), "the dtype of scale_bias")
    require_rank(weight, 4, "weight")
    if attrs.kernel_shape is None or attrs.ofm_channels is None:
        raise RelationError("kernel_shape and ofm_channels must be given")
    reporter.assign(2, TensorType((weight.shape[0], 10), "uint8"))
    reporter.assign(1, TensorType((attrs.ofm_channels, *attrs.kernel_shape, weight.shape[3]), weight.dtype))
    return ifm, attrs.windows(ifm, attrs.kernel_shape, attrs.ofm_channels, attrs.dilation, upscale)


@dataclass(frozen=True)
class EthosUConvolution(EthosU):
    """The attributes of both convolutions."""

    ifm_scale: float
    ifm_zero_point: int
    weight_zero_point: int
    ofm_scale: float
    ofm_zero_point: int
    kernel_shape: tuple[int, ...] | None = None
    ofm_channels: int | None = None
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    activation: str = "NONE"
    clip_min: int = 0
    clip_max: int = 0
    rounding_mode: str = "TFL"
    upscale: str = "NONE"
    ifm_layout: str = "NHWC"
    ofm_layout: str = "NHWC"


@operator(
    "contrib.ethosu.conv2d",
    *("ifm", "weight", "scale_bias", "lut"),
    attrs="EthosuConv2DAttrs",
    level=11,
    vendor=_VENDOR,
)
@dataclass(frozen=True)
class EthosUConv2D(EthosUConvolution):
    """A quantized convolution; weights are `(ofm_channels, height, width, ifm_channels)`.

    `scale_bias` `(ofm_channels, 10)` has the scale and bias of each channel packed into 80 bits.
    """

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """An 8-bit input and 8-bit weights give a result of the input's dtype; the attributes give the weights their type."""
        sizes = _relate_convolution(self, types, reporter, self.upscale)
        return sizes and TensorType(sizes[1], sizes[0].dtype)


@operator(
    "contrib.ethosu.depthwise_conv2d",
    *("ifm", "weight", "scale_bias", "lut"),
    attrs="EthosuDepthwiseConv2DAttrs",
    level=11,
    vendor=_VENDOR,
)
@dataclass(frozen=True)
class EthosUDepthwiseConv2D(EthosUConvolution):
    """A quantized depthwise convolution; weights are `(ofm_channels, height, width, 1)`. See `contrib.ethosu.conv2d`."""

    ofm_dtype: str = "int8"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """An 8-bit input and 8-bit weights give a result of `ofm_dtype`; the attributes give the weights their type."""
        _one_of(self.ofm_dtype, ("uint8", "int8", "int16", "int32"), "ofm_dtype")
        sizes = _relate_convolution(self, types, reporter, "NONE")
        return sizes and TensorType(sizes[1], self.ofm_dtype)


@operator("contrib.ethosu.pooling", "ifm", "lut", attrs="EthosuPoolingAttrs", level=11, vendor=_VENDOR)
@dataclass(frozen=True)
class EthosUPooling(EthosU):
    """The mean (`AVG`), maximum (`MAX`) or sum (`SUM`, since 0.13) over windows. `ofm_dtype` defaults to the input's."""

    pooling_type: str
    ifm_scale: float
    ifm_zero_point: int
    ofm_scale: float
    ofm_zero_point: int
    pool_shape: tuple[int, ...] | None = None
    ofm_channels: int | None = None
    ofm_dtype: str = field(default="", metadata=since("0.13"))
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    activation: str = "NONE"
    clip_min: int = 0
    clip_max: int = 0
    rounding_mode: str = "TFL"
    upscale: str = "NONE"
    ifm_layout: str = "NHWC"
    ofm_layout: str = "NHWC"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Integers of 8 or 16 bits give the same; sums, of 32 bits too, give int32."""
        ifm = tensor(types[0], "ifm")
        if ifm is None:
            return None
        _one_of(self.pooling_type, ("AVG", "MAX", "SUM"), "pooling_type")
        sums = self.pooling_type == "SUM"
        _one_of(ifm.dtype, (*_BYTES, "int16", *(("int32",) if sums else ())), "the dtype of ifm")
        out = self.ofm_dtype or ("int32" if sums else ifm.dtype)
        _one_of(out, ("int32",) if sums else (ifm.dtype,), "ofm_dtype")
        if self.pool_shape is None or self.ofm_channels is None:
            raise RelationError("pool_shape and ofm_channels must be given")
        return TensorType(self.windows(ifm, self.pool_shape, self.ofm_channels, (1, 1), self.upscale), out)


@operator("contrib.ethosu.identity", "ifm", "lut", attrs="EthosuIdentityAttrs", level=11, vendor=_VENDOR)
@dataclass(frozen=True)
class EthosUIdentity(EthosU):
    """The input, requantized."""

    ifm_scale: float
    ifm_zero_point: int
    ofm_scale: float
    ofm_zero_point: int
    activation: str = "NONE"
    rounding_mode: str = field(default="TFL", metadata=since("0.14"))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Integers of 8 or 16 bits with at most four axes, giving their own type."""
        ifm = tensor(types[0], "ifm")
        if ifm is not None:
            _one_of(ifm.dtype, (*_BYTES, "int16"), "the dtype of ifm")
            if len(ifm.shape) > 4:
                raise RelationError(f"ifm must have at most 4 axes, not {len(ifm.shape)} ({ifm})")
        return ifm


_BINARY = {
    "ADD": ((*_BYTES, "int16", "int32"), (*_BYTES, "int16", "int32")),
    "SUB": ((*_BYTES, "int16", "int32"), (*_BYTES, "int16", "int32")),
    "MUL": ((*_BYTES, "int16", "int32"), (*_BYTES, "int16", "int32")),
    "MIN": (_BYTES, None),
    "MAX": (_BYTES, None),
    "SHR": (("int32",), (*_BYTES, "int32")),
    "SHL": (("int32",), ("int32",)),
}
"""For each operation: dtypes of both inputs, dtypes of the result (None: the inputs')."""


@operator(
    "contrib.ethosu.binary_elementwise",
    *("ifm", "ifm2", "lut"),
    attrs="EthosuBinaryElementwiseAttrs",
    level=11,
    vendor=_VENDOR,
)
@dataclass(frozen=True, kw_only=True)
class EthosUBinaryElementwise(EthosU):
    """`operator_type` of two quantized tensors: ADD, SUB, MUL, MIN, MAX, SHR (shift right) or SHL.

    `use_rescale` gives the scaling of the result directly, as `rescale_scale` and `rescale_shift`.
    """

    operator_type: str
    ifm_scale: float
    ifm_zero_point: int
    ifm2_scale: float
    ifm2_zero_point: int
    ofm_scale: float
    ofm_zero_point: int
    ifm_channels: int
    ifm2_channels: int
    reversed_operands: bool = False
    activation: str = "NONE"
    clip_min: int = 0
    clip_max: int = 0
    rounding_mode: str = "TFL"
    ifm_layout: str = "NHWC"
    ifm2_layout: str = "NHWC"
    ofm_layout: str = "NHWC"
    ofm_dtype: str
    use_rescale: bool = field(default=False, metadata=since("0.12"))
    rescale_scale: int = field(default=0, metadata=since("0.12"))
    rescale_shift: int = field(default=0, metadata=since("0.12"))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """Two inputs of one dtype give the first one's height and width, `ifm_channels` and `ofm_dtype`."""
        ifm, ifm2 = tensor(types[0], "ifm"), tensor(types[1], "ifm2")
        if ifm is None or ifm2 is None:
            return None
        if ifm.dtype != ifm2.dtype:
            raise RelationError(f"ifm and ifm2 must hold one dtype, not {ifm.dtype} and {ifm2.dtype}")
        _one_of(self.operator_type, tuple(_BINARY), "operator_type")
        inputs, results = _BINARY[self.operator_type]
        _one_of(ifm.dtype, inputs, f"the dtype of ifm for {self.operator_type}")
        _one_of(self.ofm_dtype, results or (ifm.dtype,), f"ofm_dtype for {self.operator_type}")
        shape = _laid_out(_rows(ifm, self.ifm_layout), self.ifm_channels, self.ofm_layout)
        return TensorType(shape, self.ofm_dtype)


@operator(
    "contrib.ethosu.unary_elementwise",
    *("ifm", "lut"),
    attrs="EthosuUnaryElementwiseAttrs",
    level=11,
    vendor=_VENDOR,
)
@dataclass(frozen=True)
class EthosUUnaryElementwise(EthosU):
    """`operator_type` of a quantized tensor: ABS (the magnitude) or CLZ (the number of leading zero bits)."""

    operator_type: str
    ifm_scale: float
    ifm_zero_point: int
    ofm_scale: float
    ofm_zero_point: int
    ofm_channels: int
    activation: str = "NONE"
    clip_min: int = 0
    clip_max: int = 0
    rounding_mode: str = "TFL"
    ifm_layout: str = "NHWC"
    ofm_layout: str = "NHWC"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """8-bit integers for ABS, int32 for CLZ, giving their dtype, height and width, and `ofm_channels`."""
        ifm = tensor(types[0], "ifm")
        if ifm is None:
            return None
        _one_of(self.operator_type, ("ABS", "CLZ"), "operator_type")
        _one_of(ifm.dtype, ("int32",) if self.operator_type == "CLZ" else _BYTES, "the dtype of ifm")
        return TensorType(_laid_out(_rows(ifm, self.ifm_layout), self.ofm_channels, self.ofm_layout), ifm.dtype)
