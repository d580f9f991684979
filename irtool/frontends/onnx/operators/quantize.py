"""From real numbers to integers and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ....diagnostics import IrError
from ....exports.onnx.dtypes import ELEMENT_TYPES
from ..arithmetic import cast
from ..blocks import in_blocks, out_of_blocks
from ..elements import NARROW, Narrow
from ..mistakes import UnsupportedNode
from ..narrowing import limited, narrowed
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..packed_weights import PACKED, SCALES, dequantized_blocks
from ..quantities import Quantities, dequantized, dynamically_quantized, quantized
from ..tensors import dtype_of
from ..value import Value


class _Linear(OnnxOperator):
    folds = False  # for weights that the model quantizes, the integers count

    def parameters(self, x: Value, scale: Value, zero: Value | None, axis: int) -> tuple[Quantities, int]:
        """Scale and zero point, and the axis that they belong to."""
        q = Quantities.of(scale, zero)
        if q.scale.rank > 1 or q.zero.rank > 1:
            raise IrError(f"scale and zero point of {self.node.op_type} are vectors at most, not {q.scale.tensor}")
        return q, -1 if q.is_scalar else x.axis(axis)


def along(scale: Value, x: Value, axis: int) -> Value:
    """A scale, or those along an axis, so that it broadcasts to `x`."""
    if scale.rank == 0 or scale.shape == (1,):
        return scale.call("reshape", newshape=[]) if scale.rank else scale
    return scale.call("reshape", newshape=[-1 if i == x.axis(axis) else 1 for i in range(x.rank)])


@onnx_operator("QuantizeLinear")
class QuantizeLinear(_Linear):
    """`x / scale` rounded, plus the zero point, in the type of the zero point."""

    folds = True

    def apply(self, method: Callable[..., Result], inputs: Sequence[Any], attributes: dict[str, Any]) -> Result:
        zero = inputs[2] if len(inputs) > 2 else None
        number = attributes.get("output_dtype", 0)
        narrow = zero.narrow if zero is not None else NARROW.get(number)
        if narrow is None:
            return super().apply(method, inputs, attributes)
        if narrow.is_float:
            return self._as_floats(narrow, inputs[0], inputs[1], attributes)
        if number in NARROW:
            attributes = {**attributes, "output_dtype": ELEMENT_TYPES[narrow.storage_dtype]}
        quantized = super().apply(method, inputs, attributes)
        assert isinstance(quantized, Value)
        return limited(quantized, narrow)

    def _as_floats(self, narrow: Narrow, x: Value, scale: Value, attributes: dict[str, Any]) -> Value:
        """Quotients rounded to a narrow type of floats, whose zero point is 0."""
        if attributes.get("block_size"):
            raise IrError(f"blocks of {narrow.name} have no form in Relay", code=UnsupportedNode)
        return narrowed(
            x.call("divide", along(scale, x, attributes.get("axis", 1))), narrow, bool(attributes.get("saturate", 1))
        )

    @since(10)
    def whole(self, x: Value, y_scale: Value, y_zero_point: Value | None = None) -> Result:
        return self.along_axis(x, y_scale, y_zero_point)

    @since(13, 19, added={"saturate": 19})
    def along_axis(
        self, x: Value, y_scale: Value, y_zero_point: Value | None = None, *, axis: int = 1, saturate: int = 1
    ) -> Result:
        return self.rounded(x, y_scale, y_zero_point, axis, y_zero_point.dtype if y_zero_point is not None else "uint8")

    def rounded(self, x: Value, scale: Value, zero: Value | None, axis: int, dtype: str) -> Value:
        """The data quantized."""
        q, axis = self.parameters(x, scale, zero, axis)
        return quantized(x, q, dtype, axis)

    @since(21, 23, 24, 25, added={"precision": 23})
    def blocked(
        self,
        x: Value,
        y_scale: Value,
        y_zero_point: Value | None = None,
        *,
        axis: int = 1,
        saturate: int = 1,
        block_size: int = 0,
        output_dtype: int = 0,
        precision: int = 0,
    ) -> Result:
        if precision:
            wide = dtype_of(precision, "the quotient")
            x, y_scale = x.call("cast", dtype=wide), y_scale.as_constant().call("cast", dtype=wide)
        dtype = "uint8"
        if y_zero_point is not None:
            dtype = y_zero_point.dtype
        elif output_dtype:
            dtype = dtype_of(output_dtype, "the result")
        if not block_size:
            return self.rounded(x, y_scale, y_zero_point, axis, dtype)
        axis = x.axis(axis)
        extent = x.extent(axis, "a tensor that is quantized in blocks")
        x, q = in_blocks(x, Quantities.of(y_scale, y_zero_point), axis, block_size)
        return out_of_blocks(quantized(x, q, dtype), axis, extent)


@onnx_operator("com.microsoft.QuantizeLinear")
class MicrosoftQuantizeLinear(QuantizeLinear):
    """As ONNX's own of opset 13, also for 16 bits, which that one has later."""

    @classmethod
    def versions(cls) -> dict:
        return {1: cls.along_axis}


@onnx_operator("DequantizeLinear")
class DequantizeLinear(_Linear):
    """`(x - zero point) * scale`, in the type of the scale."""

    def apply(self, method: Callable[..., Result], inputs: Sequence[Any], attributes: dict[str, Any]) -> Result:
        x, scale = inputs[0], inputs[1]
        if x.narrow is None or not x.narrow.is_float:
            return super().apply(method, inputs, attributes)
        if attributes.get("block_size"):
            raise IrError(f"blocks of {x.narrow.name} have no form in Relay", code=UnsupportedNode)
        real = x.call("multiply", cast(along(scale, x, attributes.get("axis", 1)), x.dtype))
        number = attributes.get("output_dtype", 0)
        return replace(cast(real, dtype_of(number, "the result") if number else scale.dtype), narrow=None)

    @since(10)
    def whole(self, x: Value, x_scale: Value, x_zero_point: Value | None = None) -> Result:
        return self.along_axis(x, x_scale, x_zero_point)

    @since(13, 19)
    def along_axis(self, x: Value, x_scale: Value, x_zero_point: Value | None = None, *, axis: int = 1) -> Result:
        return self.blocked(x, x_scale, x_zero_point, axis=axis)

    @since(21, 23, 24, 25, added={"output_dtype": 23})
    def blocked(
        self,
        x: Value,
        x_scale: Value,
        x_zero_point: Value | None = None,
        *,
        axis: int = 1,
        block_size: int = 0,
        output_dtype: int = 0,
    ) -> Result:
        dtype = dtype_of(output_dtype, "the result") if output_dtype else x_scale.dtype
        if not block_size:
            q, axis = self.parameters(x, x_scale, x_zero_point, axis)
            return dequantized(x, q, axis, dtype)
        axis = x.axis(axis)
        if x.dtype in PACKED and x_scale.dtype in SCALES and dtype == x_scale.dtype:
            return dequantized_blocks(x, x_scale, x_zero_point, axis, block_size, dtype)
        extent = x.extent(axis, "a tensor that is quantized in blocks")
        x, q = in_blocks(x, Quantities.of(x_scale, x_zero_point), axis, block_size)
        return out_of_blocks(dequantized(x, q, dtype=dtype), axis, extent)


@onnx_operator("com.microsoft.DequantizeLinear")
class MicrosoftDequantizeLinear(DequantizeLinear):
    """As ONNX's own of opset 13, also for 16 bits, which that one has later."""

    @classmethod
    def versions(cls) -> dict:
        return {1: cls.along_axis}


@onnx_operator("DynamicQuantizeLinear")
class DynamicQuantizeLinear(OnnxOperator):
    """Quantization to uint8 with scale and zero point of the data: from the least element to the greatest, and with 0."""

    @since(11)
    def by_data(self, x: Value) -> Result:
        y, scale, zero = dynamically_quantized(x)
        return [y.expr, scale.expr, zero.expr]
