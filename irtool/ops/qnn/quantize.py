"""From real numbers to integers and back, for real and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.attributes import OWN, since
from ...ir.dims import Dim
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..extremes import limited
from ..shapes import require_floats, require_integers, tensor
from .fixed_point import AWAY, EVEN, along, dequantize, limits, quantize, round_away
from .parameters import (
    Quantized,
    assign_parameter,
    channel_axis,
    is_scalar,
    known,
    require_dtype,
    require_out_dtype,
)

QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")


@operator(
    "qnn.quantize",
    "data",
    "output_scale",
    "output_zero_point",
    pattern=Pattern.OPAQUE,
    attrs="QuantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class Quantize(Quantized):
    """`round(data / scale) + zero_point` in float32, clipped to `out_dtype`; parameters per channel of `axis` or for all.

    A half is rounded away from zero, as in TVM, with the `rounding` TONEAREST, and to the even number, as in ONNX, with
    TONEVEN, which TVM does not have.
    """

    out_dtype: DType
    axis: int = -1
    rounding: str = field(default=AWAY, metadata=OWN)

    one_shape = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The shape of the float32 data in `out_dtype`; scale and zero point are scalars or vectors along `axis`."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        require_dtype(data, ("float32",), "the data")
        if not known(types, (1, 2)):
            return None
        rank = len(data.shape)
        axis = channel_axis(self.axis, rank, needed=not (is_scalar(types[1]) and is_scalar(types[2])))
        size: Dim = data.shape[axis] if 0 <= axis < rank else 1
        assign_parameter(types, 1, "float32", size, reporter, "the scale")
        assign_parameter(types, 2, "int32", size, reporter, "the zero point")
        require_out_dtype(self.out_dtype, QUANTIZED)
        if self.rounding not in (AWAY, EVEN):
            raise RelationError(f"rounding is {self.rounding}; it can be {AWAY} or {EVEN}")
        return TensorType(data.shape, self.out_dtype)

    def deduce_dtypes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return ["float32", *args[1:]], self.out_dtype

    def evaluate(self, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
        rank = data.ndim
        parameters = along(scale, rank, self.axis), along(zero_point, rank, self.axis)
        return quantize(data, *parameters, self.out_dtype, self.rounding)


@operator(
    "qnn.dequantize",
    "data",
    "input_scale",
    "input_zero_point",
    pattern=Pattern.OPAQUE,
    attrs="DequantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class Dequantize(Quantized):
    """`(data - zero_point) * scale` in float32; parameters per channel of `axis` or for all.

    `out_dtype` is float32, or float16: the float32 product clipped to its range and cast. Left out, as texts of 0.13 and
    before have it, it is float32.
    """

    out_dtype: DType = field(default=VOID, metadata=since("0.14"))
    axis: int = -1

    one_shape = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The shape of the quantized data in `out_dtype`; scale and zero point are scalars or vectors along `axis`."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        require_dtype(data, QUANTIZED, "the data")
        if not known(types, (1, 2)):
            return None
        rank = len(data.shape)
        single = is_scalar(types[1], one_element=True) and is_scalar(types[2], one_element=True)
        axis = channel_axis(self.axis, rank, needed=not single)
        size: Dim = 1 if single or not rank else data.shape[axis]
        assign_parameter(types, 1, "float32", size, reporter, "the scale")
        assign_parameter(types, 2, "int32", size, reporter, "the zero point")
        if self.out_dtype not in (VOID, "float32", "float16"):
            raise RelationError(f"out_dtype must be float32 or float16, not {self.out_dtype}")
        return TensorType(data.shape, self.out_dtype or "float32")

    def deduce_dtypes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return list(args), "float32"

    def evaluate(self, data: np.ndarray, scale: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
        real = dequantize(data, along(scale, data.ndim, self.axis), along(zero_point, data.ndim, self.axis))
        if self.out_dtype != "float16":
            return real
        largest = np.float32(np.finfo(np.float16).max)
        return limited(real, -largest, largest).astype(np.float16)


_CODES = {1: "int8", 2: "uint8", 3: "int32"}
"""What the code argument of the simulated operators stands for; 0 passes the data through."""


def _cycled(parameter: np.ndarray, data: np.ndarray, axis: int) -> np.ndarray:
    """The parameter of each channel, starting over where there are fewer than channels."""
    flat = np.ravel(parameter)
    channels = np.arange(data.shape[axis] if data.ndim else 1) % len(flat)
    return along(flat[channels], data.ndim, axis)


class Simulated(Operator):
    """Quantization acted out in floating point; the dtype is a code that is data."""

    axis: int

    def channel_elements(self, inputs: Sequence[Any], element: Any) -> Any:
        """The tensor expression of `element(code, value, scale, zero point)`."""
        data, code, scale, zero = inputs

        def of_channel(parameter: Any, i: Sequence[Any]) -> Any:
            if not parameter.ndim:
                return te.cast(parameter[()], data.dtype)
            channel = i[self.axis] if i else 0
            return te.cast(parameter[te.floormod(channel, parameter.shape[0])], data.dtype)

        def value_at(*i: Any) -> Any:
            chosen = code[(0,) * code.ndim]
            return element(chosen, data[i], of_channel(scale, i), of_channel(zero, i))

        return te.compute(data.shape, value_at, name="simulated", tag="elemwise")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The type of the data."""
        data, code = tensor(types[0], "the data"), tensor(types[1], "the dtype code")
        if data is None or code is None:
            return None
        require_floats(data, "the data")
        require_integers(code, "the dtype code")
        if any(isinstance(d, int) and d < 1 for d in code.shape):
            raise RelationError(f"the dtype code must have an element: {code}")
        channel_axis(self.axis, len(data.shape))
        for index, what in ((2, "the scale"), (3, "the zero point")):
            parameter = tensor(types[index], what)
            if parameter is not None and (len(parameter.shape) > 1 or parameter.shape == (0,)):
                raise RelationError(f"{what} must be a scalar or a vector of one element at least, not {parameter}")
        return TensorType(data.shape, data.dtype)


@operator(
    "qnn.simulated_quantize",
    "data",
    "out_dtype",
    "output_scale",
    "output_zero_point",
    pattern=Pattern.ELEMWISE,
    attrs="SimulatedQuantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class SimulatedQuantize(Simulated):
    """`qnn.quantize` with a floating-point result; `out_dtype` is 1 for int8, 2 for uint8, 3 for int32, 0 for nothing."""

    no_gradient = "it rounds: the slope is zero between steps"

    layout_rule = ""

    axis: int = -1

    def evaluate(self, data: np.ndarray, code: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
        dtype = _CODES.get(int(np.ravel(code)[0]))
        if dtype is None:
            return data
        low, high = limits(dtype)
        rounded = round_away(data / _cycled(scale, data, self.axis)) + _cycled(zero, data, self.axis)
        return np.fmax(np.fmin(rounded, high), low).astype(data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        def element(code: Any, value: Any, scale: Any, zero: Any) -> Any:
            result = value
            rounded = te.round(value / scale) + zero
            for number, dtype in _CODES.items():
                low, high = limits(dtype)
                clamped = te.maximum(te.minimum(rounded, float(high)), float(low))
                result = te.select(code.equal(number), clamped, result)
            return result

        return self.channel_elements(inputs, element)


@operator(
    "qnn.simulated_dequantize",
    "data",
    "in_dtype",
    "input_scale",
    "input_zero_point",
    pattern=Pattern.ELEMWISE,
    attrs="DequantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class SimulatedDequantize(Simulated):
    """`qnn.dequantize` of integers held in floating point; codes as in `qnn.simulated_quantize`."""

    no_gradient = "its codes say which integers the data stand for"

    layout_rule = ""

    axis: int = -1

    def evaluate(self, data: np.ndarray, code: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
        if int(np.ravel(code)[0]) not in _CODES:
            return data
        shifted = data - _cycled(zero, data, self.axis)
        return (shifted * _cycled(scale, data, self.axis)).astype(data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        def element(code: Any, value: Any, scale: Any, zero: Any) -> Any:
            known = te.any(*(code.equal(number) for number in _CODES))
            return te.select(known, (value - zero) * scale, value)

        return self.channel_elements(inputs, element)
