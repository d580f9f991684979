"""Concatenation of tensors of different scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import Type
from ..base import RelationError, Reporter, operator, operators
from ..shapes import tensor_fields
from .fixed_point import requantize
from .parameters import INTEGERS, Quantized, known, require_dtype, require_scalar


@operator(
    "qnn.concatenate",
    "data",
    "input_scales",
    "input_zero_points",
    "output_scale",
    "output_zero_point",
    attrs="ConcatenateAttrs",
    level=11,
)
@dataclass(frozen=True)
class QuantizedConcatenate(Quantized):
    """Each tensor of a tuple requantized to the output's scale and zero point, then joined along `axis`."""

    axis: int = 0

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """As `concatenate`; a float32 scale and an int32 zero point for each tensor, and one of each for the result."""
        scales, zeros = tensor_fields(types[1], "input_scales"), tensor_fields(types[2], "input_zero_points")
        data = tensor_fields(types[0], "the data")
        if data is None or scales is None or zeros is None:
            return None
        for i, t in enumerate(data):
            require_dtype(t, INTEGERS, f"tensor {i}")
        counts = [len(data), len(scales), len(zeros)]
        if len(set(counts)) > 1:
            raise RelationError(f"{counts[0]} tensors, {counts[1]} scales and {counts[2]} zero points are given")
        for i, t in enumerate(scales):
            require_scalar(t, "float32", f"input_scales.{i}")
        for i, t in enumerate(zeros):
            require_scalar(t, "int32", f"input_zero_points.{i}")
        if not known(types, (3, 4)):
            return None
        require_scalar(types[3], "float32", "the output scale")
        require_scalar(types[4], "int32", "the output zero point")
        return operators.get("concatenate").make({"axis": self.axis}).relate(types[:1], reporter)

    def evaluate(
        self,
        data: Sequence[np.ndarray],
        scales: Sequence[np.ndarray],
        zeros: Sequence[np.ndarray],
        out_scale: np.ndarray,
        out_zero: np.ndarray,
    ) -> np.ndarray:
        parts = [
            requantize(x, s, z, out_scale, out_zero, str(x.dtype)) for x, s, z in zip(data, scales, zeros, strict=True)
        ]
        return np.concatenate(parts, axis=self.axis)
