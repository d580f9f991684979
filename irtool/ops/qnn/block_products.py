"""Matrix products of integers in blocks: data quantized block by block, and weights with a scale for each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ...ir.dims import Dim, is_number
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..shapes import ceildiv, require_compatible, tensor
from ..typical import NearOne
from .blocks import REAL, STORED
from .parameters import require_dtype

LARGEST = 127
"""The number that the element of the largest magnitude in a block becomes, or its negative."""

LEAST = 2.0**-96
"""The largest magnitude of a block is no less: its reciprocal is finite, and a block of zeros has a scale."""

_MOST = 1 << 16
"""The longest block: its products add up in 32 bits."""


def _require_size(size: int) -> None:
    if not 1 <= size <= _MOST:
        raise RelationError(f"block_size is {size}; it is from 1 to {_MOST}")


def _or_zero(element: Any, place: Any, extent: int, size: int) -> Any:
    """An element of a block of that size; 0 behind the extent, where the last block is shorter."""
    return (
        te.if_then_else(place < extent, element, te.const(0, element.dtype))
        if _may_hang_over(extent, size)
        else element
    )


def _may_hang_over(extent: int, size: int) -> bool:
    """True if the last block of that size may be shorter: extents that the run decides are not known to be multiples."""
    return not is_number(extent) or extent % size != 0


def _longest(extent: int, size: int) -> int:
    """The elements of the longest block."""
    return min(size, extent) if is_number(extent) else size


@operator("qnn.quantize_blocks", "data", pattern=Pattern.OPAQUE, attrs="QuantizeBlocksAttrs")
@dataclass(frozen=True)
class QuantizeBlocks(Operator):
    """The data in 8 bits, and a scale for each block of `block_size` elements along the last axis, of which the last may be shorter.

    The scale is the largest magnitude of the block divided by 127. Elements are multiplied by the reciprocal, 127 divided by that
    magnitude, and rounded, halves to the even number. Elements of a block with a NaN or an infinity become 0, and its scale is no number.
    """

    no_gradient = "the result is in integers"

    precision = "never"

    layout_rule = ""

    block_size: int = 32

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """float32 data of rank 1 or more give int8 of their shape, and float32 with an element for each block."""
        _require_size(self.block_size)
        data = tensor(types[0], "the data")
        if data is None:
            return None
        require_dtype(data, ("float32",), "the data")
        if not data.shape:
            raise RelationError("the data are a scalar, which has no blocks")
        *rows, extent = data.shape
        scales = (*rows, ceildiv(extent, self.block_size))
        return TupleType((TensorType(data.shape, "int8"), TensorType(scales, "float32")))

    def evaluate(self, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        *rows, extent = data.shape
        count = -(-extent // self.block_size)
        padded = np.zeros((*rows, count * self.block_size), np.float32)
        padded[..., :extent] = np.abs(data)
        blocks = padded.reshape(*rows, count, self.block_size)
        largest = np.maximum(blocks.max(-1, initial=np.float32(0)), np.float32(LEAST))
        with np.errstate(all="ignore"):
            reciprocal = np.float32(LARGEST) / largest
            scaled = data * reciprocal[..., np.arange(extent) // self.block_size]
            whole = np.where(np.abs(scaled) <= LARGEST + 1, scaled, np.float32(0))
            return np.rint(whole).astype(np.int8), largest / np.float32(LARGEST)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        *rows, extent = data.shape
        size = self.block_size
        count = -(-extent // size)
        j = te.reduce_axis(_longest(extent, size), name="j")
        least, full = te.const(LEAST, "float32"), te.const(float(LARGEST), "float32")

        def magnitude(*i: Any) -> Any:
            place = i[-1] * size + j
            return te.max(_or_zero(te.abs(data[(*i[:-1], place)]), place, extent, size), axis=j)

        largest = te.compute((*rows, count), magnitude, name="largest")

        def bounded(i: Sequence[Any]) -> Any:
            return te.nan_maximum(largest[tuple(i)], least)

        def element(*i: Any) -> Any:
            scaled = data[i] * (full / bounded((*i[:-1], te.floordiv(i[-1], size))))
            whole = te.select(te.abs(scaled) <= te.const(LARGEST + 1.0, "float32"), scaled, te.const(0.0, "float32"))
            return te.cast(te.nearbyint(whole), "int8")

        quantized = te.compute(data.shape, element, name="quantized")
        scale = te.compute((*rows, count), lambda *i: bounded(i) / full, name="scale")
        return [quantized, scale]


@operator(
    "qnn.dense_blocks",
    "data",
    "data_scale",
    "weight",
    "weight_scale",
    "weight_zero",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="DenseBlocksAttrs",
)
@dataclass(frozen=True)
class DenseBlocks(Operator):
    """The product of data `(…, K)` and weights `(units, K)` in integers, block by block along `K`: `(…, units)` in float32.

    A block adds `float32(sum of data * (weight - zero)) * (data_scale * weight_scale)`, where the sum is exact, and blocks are added in
    order. Data are as `qnn.quantize_blocks` gives them, weights as `qnn.dequantize_blocks` takes them, with integer zeros of 8 or 32 bits: one
    number, or one for each block.
    """

    folds = False

    no_gradient = "the data and the weights are integers"

    precision = "never"

    layout_rule = ""

    block_size: int = 32

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        """Scales are positive."""
        return [None, NearOne(), None, NearOne(), None]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """int8 data, weights of 4 or 8 bits; float32 scales of data, scales of weights in any float type. All have an element for each
        block along `K`, and so have zeros that are no scalar.
        """
        _require_size(self.block_size)
        names = ("the data", "the scale of the data", "the weights", "the scale of the weights", "the zero")
        data, data_scale, weight, scale, zero = (tensor(t, n) for t, n in zip(types, names, strict=True))
        if data is None or data_scale is None or weight is None or scale is None or zero is None:
            return None
        for t, dtypes, what in (
            (data, ("int8",), names[0]),
            (data_scale, ("float32",), names[1]),
            (weight, STORED, names[2]),
        ):
            require_dtype(t, dtypes, what)
        require_dtype(scale, REAL, names[3])
        require_dtype(zero, ("int8", "uint8", "int32"), names[4])
        if not data.shape or len(weight.shape) != 2:
            raise RelationError(f"the data have rank 1 or more, and the weights rank 2: {data} and {weight}")
        require_compatible(data.shape[-1], weight.shape[1], "K of the data and of the weights")
        blocks = ceildiv(weight.shape[1], self.block_size)
        self._require(data_scale, (*data.shape[:-1], blocks), names[1])
        self._require(scale, (weight.shape[0], blocks), names[3])
        if zero.shape:
            self._require(zero, (weight.shape[0], blocks), names[4])
        return TensorType((*data.shape[:-1], weight.shape[0]), "float32")

    def _require(self, t: TensorType, shape: Sequence[Dim], what: str) -> None:
        if len(t.shape) != len(shape):
            raise RelationError(f"{what} must have rank {len(shape)}, not {len(t.shape)}: {t}")
        for n, (a, b) in enumerate(zip(t.shape, shape, strict=True)):
            require_compatible(a, b, f"axis {n} of {what}, and blocks of {self.block_size}")

    def evaluate(
        self, data: np.ndarray, data_scale: np.ndarray, weight: np.ndarray, scale: np.ndarray, zero: np.ndarray
    ) -> np.ndarray:
        rows, units = data.reshape(-1, data.shape[-1]), weight.shape[0]
        row_scales, column_scales = data_scale.reshape(len(rows), -1), scale.astype(np.float32)
        zeros = np.broadcast_to(zero.astype(np.int64), scale.shape)
        total = np.zeros((len(rows), units), np.float32)
        with np.errstate(all="ignore"):
            for b in range(scale.shape[1]):
                block = slice(b * self.block_size, (b + 1) * self.block_size)
                x = rows[:, block].astype(np.float64)  # its sums are exact
                products = (x @ weight[:, block].astype(np.float64).T).astype(np.int64)
                whole = products - x.sum(1).astype(np.int64)[:, None] * zeros[:, b]
                total += whole.astype(np.float32) * (row_scales[:, b, None] * column_scales[:, b])
        return total.reshape(*data.shape[:-1], units)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, data_scale, weight, scale, zero = inputs
        *rows, extent = data.shape
        size, units = self.block_size, weight.shape[0]
        count = -(-extent // size)
        j, each = (te.reduce_axis(_longest(extent, size), name=n) for n in ("j", "e"))
        b = te.reduce_axis(count, name="b")

        def number(row: Sequence[Any], block: Any, step: Any) -> Any:
            place = block * size + step
            return _or_zero(te.cast(data[(*row, place)], "int32"), place, extent, size)

        def product(*i: Any) -> Any:
            *row, n, block = i
            place = block * size + j
            if _may_hang_over(extent, size):
                place = te.minimum(place, extent - 1)  # its number is 0
            return te.sum(number(row, block, j) * te.cast(weight[n, place], "int32"), axis=j)

        products = te.compute((*rows, units, count), product, name="block_products")
        sums = te.compute((*rows, count), lambda *i: te.sum(number(i[:-1], i[-1], each), axis=each), name="block_sums")

        def element(*i: Any) -> Any:
            *row, n = i
            offset = te.cast(zero[n, b] if zero.ndim else zero[()], "int32")
            # The sums come first, so that the products are computed beside the blocks that read them.
            whole = te.const(0, "int32") - sums[(*row, b)] * offset + products[(*row, n, b)]
            return te.sum(te.cast(whole, "float32") * (data_scale[(*row, b)] * te.cast(scale[n, b], "float32")), axis=b)

        return te.compute(out_type.shape, element, name="dense_blocks", tag="dense")
