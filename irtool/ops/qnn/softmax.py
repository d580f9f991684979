"""softmax in integers alone, after algorithm 1 of "I-ViT" (Li and Gu, 2022, arXiv 2207.01405)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Type
from ..base import Reporter, operator
from ..relations import identity
from ..shapes import normalize_axis, tensor
from .fixed_point import requantize
from .parameters import Quantized, known, require_dtype, require_scalar

PARAMETERS = (
    ("scale", "float32"),
    ("zero_point", "int32"),
    ("output_scale", "float32"),
    ("output_zero_point", "int32"),
)
FRACTION_BITS = 30
"""Bits behind the point of the quotients."""
RESULT_BITS = 7
"""Bits behind the point of the result, before it is requantized."""
LARGEST_SHIFT = 20
"""Exponents of 2 are cut off here."""


def steps_to_one(scale: float) -> int:
    """The number of steps of the input's scale that make 1. Raises IrError for a scale of more than 1, or not more than 0."""
    if not 0 < scale <= 1:
        raise IrError(f"the input scale of qnn.softmax must be in 0 … 1, not {scale}")
    return int(np.floor(1 / np.float32(scale) + np.float32(0.5)))


@operator("qnn.softmax", "data", *(name for name, _ in PARAMETERS), attrs="SoftmaxAttrs", level=11)
@dataclass(frozen=True)
class QuantizedSoftmax(Quantized):
    """Softmax along `axis`: `exp(x)` as `2**q` times a linear piece, in int32 shifts; approximate, as in TVM.

    The input scale must be at most 1.
    """

    axis: int = -1

    since = "0.13"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """int8 data that has the axis, with four scalars (float32 scales, int32 zero points), giving the data's type."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        require_dtype(data, ("int8",), "the data")
        normalize_axis(self.axis, len(data.shape))
        for i, (name, dtype) in enumerate(PARAMETERS, 1):
            require_scalar(types[i], dtype, name)
        return identity(types[:1], reporter) if known(types, (1, 2, 3, 4)) else None

    def evaluate(
        self, data: np.ndarray, scale: np.ndarray, zero: np.ndarray, out_scale: np.ndarray, out_zero: np.ndarray
    ) -> np.ndarray:
        one = np.int32(steps_to_one(float(scale)))
        if not data.size:
            return data
        x = data.astype(np.int32) - np.int32(zero)
        x = x - x.max(self.axis, keepdims=True)
        log2 = x + (x >> 1) - (x >> 4)
        q = np.clip(-log2 // one, 0, LARGEST_SHIFT).astype(np.int32)
        rest = ((log2 + q * one) >> 1) + one
        raised = rest << (q.max(self.axis, keepdims=True) - q)
        total = raised.sum(self.axis, keepdims=True, dtype=np.int32)
        shares = _quotient(np.int32(1 << FRACTION_BITS), total) * raised
        fraction = shares >> (FRACTION_BITS - RESULT_BITS)
        unit = np.float32(1 / (1 << RESULT_BITS))
        if np.float32(out_scale) == unit:
            return np.clip(fraction + np.int32(out_zero), -128, 127).astype(np.int8)
        return requantize(fraction, unit, np.int32(0), out_scale, out_zero, "int8", axis=0)  # type: ignore[arg-type]  # numpy scalars are arrays of rank 0


def _quotient(a: np.int32, b: np.ndarray) -> np.ndarray:
    """`a / b` towards zero."""
    return (np.sign(b) * (a // np.maximum(np.abs(b), 1))).astype(np.int32)
