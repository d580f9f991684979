"""From real numbers to quantized ones and back."""

from __future__ import annotations

from typing import ClassVar

from ....deferred import np
from ...onnx.value import Value, apply
from ..dequantized import dequantized
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import offset, require_scalar, rescaled, scale_of, stored
from .unary import round_away


@tflite_operator("QUANTIZE")
class Quantize(TfliteOperator):
    """Real numbers in steps of the output, a half away from zero; quantized ones in those of another scale."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16", "int32")

    def convert(self, x: Operand) -> Result:
        out, dtype = self.outputs[0].quantization, self.outputs[0].dtype
        if x.dtype == "float32":
            if out is None:
                raise self.damaged("its output has no scale")
            scales, zeros = out.scales, out.zeros.astype(np.int32)
            if out.is_scalar:
                scales, zeros = scales.reshape(()), zeros.reshape(())
            return x.call(
                "qnn.quantize",
                Value.constant(np.array(scales)),
                Value.constant(np.array(zeros)),
                out_dtype=dtype,
                axis=-1 if out.is_scalar else out.axis,
            )
        factor = scale_of(require_scalar(x)) / scale_of(self.out_q)
        return stored(rescaled(offset(x), factor), self.out_q, dtype)


@tflite_operator("DEQUANTIZE")
class Dequantize(TfliteOperator):
    """Quantized numbers, or those of 16 bits, as float32."""

    def convert(self, x: Operand) -> Result:
        return dequantized(x)


@tflite_operator("FAKE_QUANT")
class FakeQuant(TfliteOperator):
    """Real numbers limited to a range and rounded to its steps."""

    types: ClassVar[tuple[str, ...]] = ("float32",)

    def convert(
        self, x: Operand, *, min: float = 0.0, max: float = 0.0, num_bits: int = 0, narrow_range: bool = False
    ) -> Result:
        if not 2 <= num_bits <= 16 or not min < max or not min <= 0 <= max:
            raise self.damaged(f"{num_bits} bits between {min} and {max}")
        low, high = np.float32(1 if narrow_range else 0), np.float32((1 << num_bits) - 1)
        scale = (np.float32(max) - np.float32(min)) / (high - low)
        zero = np.float32(np.clip(np.floor(low - np.float32(min) / scale + np.float32(0.5)), low, high))
        least, greatest = (low - zero) * scale, (high - zero) * scale
        inverse = np.float32(1) / scale
        data = x.call("clip", a_min=float(least), a_max=float(greatest))
        shifted = apply("subtract", data, Value.constant(np.float32(least)))
        steps = round_away(apply("multiply", shifted, Value.constant(np.float32(inverse))))
        return apply(
            "add", apply("multiply", steps, Value.constant(np.float32(scale))), Value.constant(np.float32(least))
        )
