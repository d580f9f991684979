"""Convolutions and matrix products of quantized tensors: integer sums, still to be requantized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import RelationError, Reporter, operator
from ..layout import convert
from ..nn.conv import Conv2D
from ..nn.conv_transpose import Conv2DTranspose
from ..nn.dense import BatchMatmul, Dense
from ..shapes import mul, tensor
from .parameters import (
    Quantized,
    assign_parameter,
    is_scalar,
    known,
    require_dtype,
    require_out_dtype,
    require_scalar,
)

ARGUMENTS = ("data", "weight", "input_scale", "input_zero_point", "weight_scale", "weight_zero_point")
"""TVM's names; what is passed is zero point of the data, of the weights, scale of the data, of the weights."""


def less_zero_point(x: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    """`x - zero_point`, in int16 where it fits (its products are then summed fast), otherwise in int64."""
    shifted = x.astype(np.int64) - zero_point
    if shifted.size and max(int(shifted.max()), -int(shifted.min())) < 2**15:
        return shifted.astype(np.int16)
    return shifted


def relate_weight_scale(
    types: Sequence[Type],
    reporter: Reporter,
    kernel_layout: str,
    weight: TensorType,
    groups: int,
    channels: int | None,
) -> None:
    """The scale of convolution weights: a scalar or one for each channel of the result.

    Of grouped convolutions 0.10 expects as many as the weights have input and output channels together, which is right for
    depthwise ones; since 0.14 it is one for each channel. Both are taken.
    """
    outputs, inputs = kernel_layout.find("O"), kernel_layout.find("I")
    if outputs < 0 or (groups != 1 and inputs < 0) or max(outputs, inputs) >= len(weight.shape):
        raise RelationError(f"kernel_layout {kernel_layout} does not say where the channels of {weight} are")
    size: Dim = weight.shape[outputs]
    if groups != 1:
        scale = tensor(types[5])
        by_channel = scale is not None and channels is not None and scale.shape == (channels,)
        size = scale.shape[0] if by_channel and scale is not None else mul(weight.shape[inputs], size)
    assign_parameter(types, 5, "float32", size, reporter, "the scale of the weights")


def relate_weight_zero(types: Sequence[Type], reporter: Reporter, channels: Dim) -> None:
    """The zero point of weights: one number, or one for each channel of the result."""
    zero_point = tensor(types[3], "the zero point of the weights")
    if zero_point is not None and zero_point.shape == (1,):
        require_dtype(zero_point, ("int32",), "the zero point of the weights")
    else:
        assign_parameter(types, 3, "int32", channels, reporter, "the zero point of the weights")


def weight_zero_point(zero_point: np.ndarray, weights: np.ndarray, out_axis: int) -> np.ndarray:
    """A zero point of weights shaped to be subtracted: along the channels of the result where it is a vector."""
    zero_point = np.asarray(zero_point, np.int64)
    if zero_point.size == 1:
        return zero_point.reshape(())
    shape = [1] * weights.ndim
    shape[out_axis] = -1
    return zero_point.reshape(shape)


@operator("qnn.conv2d", *ARGUMENTS, attrs="Conv2DAttrs", level=11)
@dataclass(frozen=True)
class QuantizedConv2D(Conv2D, Quantized):
    """`nn.conv2d` of the data and the weights minus their zero points, exactly, in `out_dtype`.

    The arguments are data, weights, zero point of the data, of the weights, scale of the data, of the weights; padding
    holds the zero point, that is, real zeros.
    """

    precision = ""
    kernel_layouts = {"NCHW": "OIHW", "NHWC": "HWIO"}

    typical = Quantized.typical

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As `nn.conv2d` with weights and data of 8 or 16 bits; those of the data are scalars, scales of the
        weights scalars or one for each channel; gives `out_dtype`.
        """
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None or weight is None:
            return None
        require_dtype(data, ("int8", "uint8", "int16"), "the data")
        require_dtype(weight, ("int8", "uint8", "int16"), "the weights")
        require_out_dtype(self.out_dtype, ("int16", "int32", "int64"))
        if not known(types, (2, 3, 4, 5)):
            return None
        require_scalar(types[2], "int32", "the zero point of the data")
        require_scalar(types[4], "float32", "the scale of the data")
        relate_weight_scale(types, reporter, self.kernel_layout, weight, self.groups, self.channels)
        relate_weight_zero(types, reporter, weight.shape[self.kernel_layout.find("O")])
        return super().relate(types[:2], reporter)

    def evaluate(self, data: np.ndarray, weight: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        x = less_zero_point(data, np.asarray(rest[0], np.int64))
        w = convert(weight, self.kernel_layout, self.kernel_canonical())
        w = less_zero_point(w, weight_zero_point(rest[1], w, 0))
        return super().evaluate(x, convert(w, self.kernel_canonical(), self.kernel_layout))


@operator("qnn.conv2d_transpose", *ARGUMENTS, attrs="Conv2DTransposeAttrs", level=11)
@dataclass(frozen=True)
class QuantizedConv2DTranspose(Conv2DTranspose, Quantized):
    """`nn.conv2d_transpose` of the data and the weights minus their zero points, exactly, in `out_dtype`.

    The arguments are in the order of `qnn.conv2d`.
    """

    precision = ""

    typical = Quantized.typical

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As `nn.conv2d_transpose` with 8-bit weights and data of 8 or 16 bits; scale and zero point of the data have one element;
        gives `out_dtype`.
        """
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None or weight is None:
            return None
        require_dtype(data, ("int8", "uint8", "int16", "uint16"), "the data")
        require_dtype(weight, ("int8", "uint8"), "the weights")
        require_out_dtype(self.out_dtype, ("int16", "int32", "int64"))
        if not known(types, (2, 3, 4, 5)):
            return None
        if not (is_scalar(types[2], one_element=True) and is_scalar(types[4], one_element=True)):
            raise RelationError("scale and zero point of the data must have one element")
        assign_parameter(types, 2, "int32", 1, reporter, "the zero point of the data")
        assign_parameter(types, 4, "float32", 1, reporter, "the scale of the data")
        relate_weight_scale(types, reporter, self.kernel_layout, weight, self.groups, self.channels)
        relate_weight_zero(types, reporter, weight.shape[self.kernel_layout.find("O")])
        return super().relate(types[:2], reporter)

    def evaluate(self, data: np.ndarray, weight: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        x = less_zero_point(data, np.asarray(rest[0], np.int64).reshape(()))
        w = convert(weight, self.kernel_layout, self.kernel_canonical())
        w = less_zero_point(w, weight_zero_point(rest[1], w, 1))
        return super().evaluate(x, convert(w, self.kernel_canonical(), self.kernel_layout))


@operator("qnn.dense", *ARGUMENTS, attrs="DenseAttrs", level=11)
@dataclass(frozen=True)
class QuantizedDense(Dense, Quantized):
    """`nn.dense` of the data and the weights minus their zero points, exactly, in int32, or since 0.11 in int64.

    The arguments are in the order of `qnn.conv2d`.
    """

    precision = ""

    typical = Quantized.typical

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """As `nn.dense` with 8-bit weights and data of 8 or 16 bits; those of the data are scalars, scales of the weights scalars or
        one for each unit; gives `out_dtype`.
        """
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None or weight is None:
            return None
        require_dtype(data, ("int8", "uint8", "int16", "uint16"), "the data")
        require_dtype(weight, ("int8", "uint8"), "the weights")
        require_out_dtype(self.out_dtype, ("int32", "int64"))
        if not known(types, (2, 3, 4, 5)):
            return None
        require_scalar(types[2], "int32", "the zero point of the data")
        require_scalar(types[4], "float32", "the scale of the data")
        units: Dim = self.units if self.units is not None else (weight.shape or (1,))[0]
        assign_parameter(types, 5, "float32", units, reporter, "the scale of the weights")
        relate_weight_zero(types, reporter, units)
        return super().relate(types[:2], reporter)

    def evaluate(self, data: np.ndarray, weight: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        x = less_zero_point(data, np.asarray(rest[0], np.int64))
        return super().evaluate(x, less_zero_point(weight, weight_zero_point(rest[1], weight, 0)))


@operator(
    "qnn.batch_matmul",
    "x",
    "y",
    "x_scale",
    "x_zero_point",
    "y_scale",
    "y_zero_point",
    attrs="BatchMatmulAttrs",
    level=11,
)
@dataclass(frozen=True)
class QuantizedBatchMatmul(BatchMatmul, Quantized):
    """`nn.batch_matmul` of both operands minus their zero points, exactly, in int32.

    The arguments are the operands, both zero points, both scales.
    """

    precision = ""

    typical = Quantized.typical

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """8-bit operands as in `nn.batch_matmul`, zero points and scales scalars; gives int32."""
        x, y = tensor(types[0], "the first operand"), tensor(types[1], "the second operand")
        if x is None or y is None:
            return None
        require_dtype(x, ("int8", "uint8"), "the first operand")
        require_dtype(y, ("int8", "uint8"), "the second operand")
        require_out_dtype(self.out_dtype, ("int32",))
        if not known(types, (2, 3, 4, 5)):
            return None
        for i, dtype in ((2, "int32"), (3, "int32"), (4, "float32"), (5, "float32")):
            require_scalar(types[i], dtype, f"argument {i}")
        return super().relate(types[:2], reporter)

    def evaluate(self, x: np.ndarray, y: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        left = less_zero_point(x, np.asarray(rest[0], np.int64))
        return super().evaluate(left, less_zero_point(y, np.asarray(rest[1], np.int64)))
