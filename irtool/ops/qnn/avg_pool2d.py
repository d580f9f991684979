"""The mean over windows of a quantized tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import TensorType, Type
from ..base import Pattern, Reporter, operator
from ..nn.pool import AvgPool2D
from ..shapes import tensor
from .fixed_point import requantize, saturate
from .parameters import Quantized, known, require_dtype, require_scalar

PARAMETERS = (
    ("input_scale", "float32"),
    ("input_zero_point", "int32"),
    ("output_scale", "float32"),
    ("output_zero_point", "int32"),
)


@operator(
    "qnn.avg_pool2d",
    "data",
    *(name for name, _ in PARAMETERS),
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="AvgPool2DAttrs",
    level=11,
)
@dataclass(frozen=True)
class QuantizedAvgPool2D(AvgPool2D, Quantized):
    """`nn.avg_pool2d` in int32 of the data in terms of the result's scale and zero point, clipped to the data's type."""

    differentiable = False

    precision = ""

    typical = Quantized.typical

    since = "0.13"
    noncomputational = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """int8 or uint8 data with four scalars (float32 scales, int32 zero points), as `nn.avg_pool2d` types it."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        require_dtype(data, ("int8", "uint8"), "the data")
        if not known(types, (1, 2, 3, 4)):
            return None
        for i, (name, dtype) in enumerate(PARAMETERS, 1):
            require_scalar(types[i], dtype, name)
        return super().relate(types[:1], reporter)

    def evaluate(  # type: ignore[override]  # it takes scales and zero points, too
        self, data: np.ndarray, scale: np.ndarray, zero: np.ndarray, out_scale: np.ndarray, out_zero: np.ndarray
    ) -> np.ndarray:
        x = data.astype(np.int32)
        if scale != out_scale or zero != out_zero:
            x = requantize(data, scale, zero, out_scale, out_zero, "int32")
        return saturate(super().evaluate(x), data.dtype)
