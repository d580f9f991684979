"""A quantized dense layer with weights packed in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import TensorType, Type
from ..base import Pattern, Reporter, operator
from ..nn.dense import DensePack
from ..shapes import mul, require_compatible, require_rank, tensor
from .parameters import Quantized, assign_parameter, known, require_dtype, require_out_dtype, require_scalar
from .products import ARGUMENTS, less_zero_point


@operator(
    "qnn.contrib_dense_pack",
    *ARGUMENTS,
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="DensePackAttrs",
    level=11,
)
@dataclass(frozen=True)
class QuantizedDensePack(DensePack, Quantized):
    """`nn.contrib_dense_pack` of the data and the weights minus their zero points, exactly, in int32 or int64.

    Weights have rank 4, `(units / n, K / c, n, c)`. The arguments are in the order of `qnn.conv2d`.
    """

    typical = Quantized.typical

    since = "0.12"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """8-bit data `(M, K)` and 8-bit weights of rank 4 give `(M, units)` in `out_dtype`; scale and zero point of the data are scalars."""
        data, weight = tensor(types[0], "the data"), tensor(types[1], "the weights")
        if data is None or weight is None:
            return None
        require_rank(data, 2, "the data")
        require_rank(weight, 4, "the weights")
        require_dtype(data, ("int8", "uint8"), "the data")
        require_dtype(weight, ("int8", "uint8"), "the weights")
        require_out_dtype(self.out_dtype, ("int32", "int64"))
        depth = mul(weight.shape[1], weight.shape[3])
        require_compatible(data.shape[1], depth, "the numbers of columns that data and weights sum over")
        units = mul(weight.shape[0], weight.shape[2])
        if not known(types, (2, 3, 4, 5)):
            return None
        require_scalar(types[2], "int32", "the zero point of the data")
        require_scalar(types[4], "float32", "the scale of the data")
        assign_parameter(types, 3, "int32", units, reporter, "the zero point of the weights")
        assign_parameter(types, 5, "float32", units, reporter, "the scale of the weights")
        return TensorType((data.shape[0], units), self.out_dtype)

    def evaluate(self, data: np.ndarray, weight: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        zero = np.asarray(rest[1], np.int64)
        if zero.size > 1:
            zero = zero.reshape(weight.shape[0], 1, weight.shape[2], 1)
        left = less_zero_point(data, np.asarray(rest[0], np.int64))
        return super().evaluate(left, less_zero_point(weight, zero))
