"""From one scale and zero point to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import VOID, DType, RelationError, Reporter, operator
from ..shapes import tensor
from .fixed_point import requantize
from .parameters import (
    Quantized,
    assign_parameter,
    channel_axis,
    known,
    require_dtype,
    require_out_dtype,
    require_scalar,
    require_scales,
)
from .quantize import QUANTIZED


@operator(
    "qnn.requantize",
    "data",
    "input_scale",
    "input_zero_point",
    "output_scale",
    "output_zero_point",
    attrs="RequantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class Requantize(Quantized):
    """`(data - input_zero_point) * input_scale / output_scale + output_zero_point`, clipped to `out_dtype`.

    `rounding` is `UPWARD` (a half goes up) or `TONEAREST` (a half goes away from zero), `compute_dtype` `int64`
    (multiplication by a 32-bit integer and a shift), `float32` or `float64`; `None` stands for the first of each.
    """

    axis: int = -1
    rounding: str = "None"
    compute_dtype: str = "None"
    out_dtype: DType = VOID

    one_shape = ("data", "result")

    dtype_attribute = "out_dtype"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The shape of the integer data in `out_dtype`; the first scale and zero point are scalars or vectors along
        `axis`, the second scalars.
        """
        if self.rounding not in ("None", "UPWARD", "TONEAREST"):
            raise RelationError(f"rounding must be UPWARD or TONEAREST, not {self.rounding}")
        if self.compute_dtype not in ("None", "int64", "float32", "float64"):
            raise RelationError(f"compute_dtype must be int64, float32 or float64, not {self.compute_dtype}")
        data = tensor(types[0], "the data")
        if data is None or not known(types, (1, 2, 3, 4)):
            return None
        require_dtype(data, ("int8", "uint8", "int16", "int32", "int64"), "the data")
        rank = len(data.shape)
        axis = channel_axis(self.axis, rank)
        size: Dim = data.shape[axis] if rank else 1
        assign_parameter(types, 1, "float32", size, reporter, "the input scale")
        assign_parameter(types, 2, "int32", size, reporter, "the input zero point")
        require_scalar(types[3], "float32", "the output scale")
        require_scalar(types[4], "int32", "the output zero point")
        require_scales(reporter, (1,), 3)
        require_out_dtype(self.out_dtype, QUANTIZED)
        return TensorType(data.shape, self.out_dtype)

    def evaluate(
        self,
        data: np.ndarray,
        scale: np.ndarray,
        zero_point: np.ndarray,
        out_scale: np.ndarray,
        out_zero_point: np.ndarray,
    ) -> np.ndarray:
        rounding = "UPWARD" if self.rounding == "None" else self.rounding
        compute_dtype = "int64" if self.compute_dtype == "None" else self.compute_dtype
        return requantize(
            data, scale, zero_point, out_scale, out_zero_point, self.out_dtype, self.axis, rounding, compute_dtype
        )
