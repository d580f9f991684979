"""Weights of 4 and 8 bits with a scale for each block along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ...te.tensor import UNPACKED
from ..base import DType, Operator, Pattern, RelationError, Reporter, operator
from ..dtypes import is_float, numpy_dtype
from ..shapes import ceildiv, require_compatible, tensor
from ..typical import NearOne
from .parameters import channel_axis, require_dtype

STORED = ("int4", "uint4", "int8", "uint8")
"""The dtypes of weights."""
REAL = ("float16", "bfloat16", "float32")
"""The dtypes of scales and of results."""
_FLOAT32 = DType("float32")


@operator(
    "qnn.dequantize_blocks",
    "data",
    "scale",
    "zero",
    pattern=Pattern.INJECTIVE,
    attrs="DequantizeBlocksAttrs",
)
@dataclass(frozen=True)
class DequantizeBlocks(Operator):
    """`(data - zero) * scale` with a scale for each block of `block_size` elements along `axis`, of which the last may be shorter.

    The zero is an integer, subtracted from the data, or a float, the value that the number 0 stands for: `data * scale + zero`. It is one
    number for all, or one for each block. The result is computed in float32 and rounded to `out_dtype`.

    Data are `int4`, `uint4`, `int8` or `uint8`. They stay as small as they are: no pass evaluates the call, and kernels that read its
    result read the data. Constants of `int4` and `uint4` lie two in a byte.
    """

    folds = False

    no_gradient = "the data are integers"

    precision = "never"

    layout_rule = ""

    one_shape = ("data", "result")

    dtype_attribute = "out_dtype"

    axis: int = -1
    block_size: int = 32
    out_dtype: DType = _FLOAT32

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        """Scales are positive."""
        return [None, NearOne(), None]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The shape of the data in `out_dtype`. The scale has an element for each block, and so has a zero that is no scalar."""
        if self.block_size < 1:
            raise RelationError(f"block_size is {self.block_size}; it must be positive")
        if self.out_dtype not in REAL:
            raise RelationError(f"out_dtype must be {' or '.join(REAL)}, not {self.out_dtype or 'left out'}")
        data, scale, zero = (tensor(t, f"the {what}") for t, what in zip(types, self.arguments, strict=True))
        if data is not None:
            require_dtype(data, STORED, "the data")
        if scale is not None:
            require_dtype(scale, REAL, "the scale")
        if data is None or scale is None or zero is None:
            return None
        require_dtype(zero, dict.fromkeys((data.dtype, "int32", *REAL)), "the zero")  # type: ignore[arg-type]  # its keys are a sequence
        axis = channel_axis(self.axis, len(data.shape))
        shape: list[Dim] = list(data.shape)
        shape[axis] = ceildiv(shape[axis], self.block_size)
        self._require_blocks(scale, shape, "the scale")
        if zero.shape:
            self._require_blocks(zero, shape, "the zero")
        return TensorType(data.shape, self.out_dtype)

    def _require_blocks(self, t: TensorType, shape: Sequence[Dim], what: str) -> None:
        if len(t.shape) != len(shape):
            raise RelationError(f"{what} must have the rank of the data, {len(shape)}, not {len(t.shape)}: {t}")
        for n, (a, b) in enumerate(zip(t.shape, shape, strict=True)):
            require_compatible(a, b, f"axis {n} of {what}, and blocks of {self.block_size}")

    def evaluate(self, data: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
        axis = self.axis % data.ndim
        block = np.arange(data.shape[axis]) // self.block_size

        def spread(blocks: np.ndarray) -> np.ndarray:
            return np.take(blocks, block, axis=axis) if blocks.ndim else blocks

        factor = spread(scale.astype(np.float32))
        with np.errstate(all="ignore"):
            if zero.dtype.kind in "iu":
                real = (data.astype(np.int32) - spread(zero.astype(np.int32))).astype(np.float32) * factor
            else:
                real = data.astype(np.float32) * factor + spread(zero.astype(np.float32))
            return real.astype(numpy_dtype(self.out_dtype))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, scale, zero = inputs
        axis = self.axis % data.ndim

        def element(*i: Any) -> Any:
            blocks = (*i[:axis], te.floordiv(i[axis], self.block_size), *i[axis + 1 :])
            offset = zero[blocks] if zero.ndim else zero[()]
            factor = te.cast(scale[blocks], "float32")
            if is_float(zero.dtype):
                real = te.cast(data[i], "float32") * factor + te.cast(offset, "float32")
            else:
                whole = te.cast(data[i], "int32") - te.cast(offset, "int32")
                real = te.cast(whole, "float32") * factor
            return te.cast(real, self.out_dtype)

        return te.compute(out_type.shape, element, name="dequantized", tag=UNPACKED)
