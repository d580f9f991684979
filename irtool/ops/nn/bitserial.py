"""Bit-serial products: numbers of a few bits, multiplied bit by bit with `and` and a count of ones.

TVM packs the bits into words; the result does not depend on how. In the unipolar form a weight's bit counts +1
where set and -1 where clear; otherwise it counts 1 or 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..dtypes import bits
from ..layout import Layout, convert
from ..relations import show_shape
from ..shapes import add, floordiv, mul, require_compatible, require_integers, same_shape, sub, tensor
from .conv import exactly
from .conv_expression import convolution
from .convolve import convolve
from .dense import narrowed, product_expression
from .gemm import matmul
from .geometry import in_layout, pad_amounts, parse_layout, per_axis


def require_bits(bits: int, what: str) -> None:
    """RelationError unless that many bits are some of a number's."""
    if not 1 <= bits <= 32:
        raise RelationError(f"{what} must be 1 to 32, not {bits}")


def low_bits(x: np.ndarray, bits: int) -> np.ndarray:
    """The value of the lowest bits of each number."""
    return x.astype(np.int64) & ((1 << bits) - 1)


def weight_values(w: np.ndarray, bits: int, unipolar: bool) -> np.ndarray:
    """The value of a weight of that many bits: the sum of its bits' values, each ±2^i or 2^i and 0."""
    value = low_bits(w, bits)
    return 2 * value - ((1 << bits) - 1) if unipolar else value


def unpack_bits(packed: np.ndarray, axis: int, bit_axis: int) -> np.ndarray:
    """Numbers from words: along `axis` a word holds one bit each of as many numbers as it is wide, the first of them in
    its highest bit; `bit_axis` counts the bits, the lowest first."""
    width = packed.dtype.itemsize * 8
    packed_words = np.moveaxis(packed, bit_axis, -1).astype(np.uint64)
    axis = axis - 1 if bit_axis < axis else axis
    shifts = np.arange(width - 1, -1, -1, dtype=np.uint64)
    spread = (
        np.expand_dims(packed_words, axis + 1) >> shifts.reshape(-1, *[1] * (packed_words.ndim - axis - 1))
    ) & np.uint64(1)
    spread = spread.reshape(
        *packed_words.shape[:axis], packed_words.shape[axis] * width, *packed_words.shape[axis + 1 :]
    )
    return (spread.astype(np.int64) << np.arange(packed.shape[bit_axis])).sum(axis=-1)


def exact(out_type: Any) -> TensorType:
    """The type in which to sum: the result's if it is of integers, which wrap at any time, and int64 for any other.

    In floats, `2 * value - (2**bits - 1)` would lose digits; in bool, a sum is not the number's.
    """
    whole = out_type.dtype.startswith(("int", "uint"))
    return out_type if whole else TensorType(out_type.shape, "int64")


def low_bits_expression(x: Any, bits: int, dtype: str) -> Any:
    """`low_bits` as a tensor expression."""
    return te.compute(x.shape, lambda *i: low_bits_of(x[i], bits, dtype), name="bits", tag="elemwise")


def low_bits_of(e: Any, count: int, dtype: str) -> Any:
    """The lowest bits of one integer, in a dtype: masked before it gets narrower, and after it got wider where its sign is
    among them."""
    wide = e if count < bits(e.dtype) else te.cast(e, "int64")
    return te.cast(wide & te.const((1 << count) - 1, wide.dtype), dtype)


def plain_weights(weight: Any, packed: tuple[int, int], bits: int, unipolar: bool, dtype: str) -> Any:
    """`weight_values` of weights, unpacked where they have an axis of bits: `packed` is the axes of words and of bits."""
    axis, bit_axis = packed
    is_packed = weight.ndim in (3, 5)
    width = int("".join(c for c in weight.dtype if c.isdigit()) or 0)
    shape = list(weight.shape)
    if is_packed:
        shape[axis] *= width
        del shape[bit_axis]

    def value(i: tuple[Any, ...]) -> Any:
        if not is_packed:
            return low_bits_of(weight[i], bits, dtype)
        total: Any = te.const(0, dtype)
        for b in range(weight.shape[bit_axis]):
            source = list(i)
            source.insert(bit_axis, b)
            source[axis], lane = te.floordiv(source[axis], width), te.floormod(source[axis], width)
            bit = (weight[tuple(source)] >> te.cast(width - 1 - lane, weight.dtype)) & te.const(1, weight.dtype)
            total = total + te.cast(bit, dtype) * te.const(1 << b, dtype)
        return total

    def element(*i: Any) -> Any:
        code = value(i)
        return code * te.const(2, dtype) - te.const((1 << bits) - 1, dtype) if unipolar else code

    return te.compute(tuple(shape), element, name="weights", tag="injective")


@operator(
    "nn.bitserial_conv2d", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="BinaryConv2DAttrs", level=2
)
@dataclass(frozen=True)
class BitserialConv2D(Operator):
    """`nn.conv2d` of data of `activation_bits` and weights of `weight_bits`; weights of rank 5 are packed already."""

    differentiable = False

    layout_rule = "convolution"

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    kernel_size: tuple[int, ...] = (3, 3)
    channels: int | None = None
    activation_bits: int = 1
    weight_bits: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    pack_dtype: DType = VOID
    out_dtype: DType = VOID
    unipolar: bool = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """`out_dtype` in the data's layout: `channels` and the numbers of window positions."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if self.channels is None:
            raise RelationError("channels must be given")
        stored = parse_layout(self.data_layout, "NCHW", "data_layout")
        shape = in_layout(data.shape, stored, "NCHW", "the data")
        require_bits(self.activation_bits, "activation_bits")
        require_bits(self.weight_bits, "weight_bits")
        require_integers(data, "the data")
        weight = tensor(types[1], "the weights")
        if weight is not None:
            self.require_weights(weight, shape[1])
        kernel, strides = exactly(self.kernel_size, 2, "kernel_size"), per_axis(self.strides, 2, "strides")
        pads = pad_amounts(self.padding, 2)
        spatial = [add(floordiv(sub(add(shape[2 + i], add(*pads[i])), kernel[i]), strides[i]), 1) for i in range(2)]
        whole = (shape[0], self.channels, *spatial)
        out_shape = in_layout(whole, "NCHW", stored, "the result")
        if not same_shape(in_layout(out_shape, stored, "NCHW", "the result"), whole):
            raise RelationError(f'{show_shape(whole)} does not fill the blocks of "{self.data_layout}"')
        return TensorType(out_shape, self.out_dtype)

    def require_weights(self, weight: TensorType, inputs: Dim) -> None:
        """RelationError unless these are weights for so many input channels, packed or not."""
        assert self.channels is not None
        require_integers(weight, "the weights")
        if len(weight.shape) == 5:
            axis, bit_axis = self.packed_axes()
            shape = [
                mul(d, bits(weight.dtype)) if i == axis else d for i, d in enumerate(weight.shape) if i != bit_axis
            ]
            require_compatible(weight.shape[bit_axis], self.weight_bits, "the bits of packed weights and weight_bits")
            layout = "OIHW" if self.data_layout == "NCHW" else "HWIO"
        else:
            shape, layout = list(weight.shape), self.kernel_layout
        parsed = parse_layout(layout, "OIHW", "kernel_layout")
        actual = in_layout(shape, parsed, "OIHW", "the weights")
        expected = (self.channels, inputs, *self.kernel_size)
        if not same_shape(actual, expected):
            raise RelationError(f"the weights must be {show_shape(expected)}, not {show_shape(actual)} ({weight})")

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x = low_bits(convert(data, self.data_layout, "NCHW"), self.activation_bits)
        w = self.weights(weight)
        pads: Any = pad_amounts(self.padding, 2)
        y = convolve(x, weight_values(w, self.weight_bits, self.unipolar), self.strides, pads, (1, 1), 1, "int64")
        return convert(y.astype(self.out_dtype), "NCHW", self.data_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        sums = exact(out_type)
        values = plain_weights(weight, self.packed_axes(), self.weight_bits, self.unipolar, sums.dtype)
        kernel_layout = self.kernel_layout
        if weight.ndim == 5:
            kernel_layout = "OIHW" if self.data_layout == "NCHW" else "HWIO"
        total = convolution(
            low_bits_expression(data, self.activation_bits, sums.dtype),
            values,
            sums,
            form="NCHW",
            kernel_form="OIHW",
            data_layout=Layout.parse(self.data_layout),
            kernel_layout=Layout.parse(kernel_layout),
            out_layout=Layout.parse(self.data_layout),
            strides=self.strides,
            pads=pad_amounts(self.padding, 2),
            dilation=(1, 1),
            groups=1,
        )
        return narrowed(total, out_type)

    def packed_axes(self) -> tuple[int, int]:
        """The axes of packed weights that hold words of input channels, and bits."""
        return (1, 4) if self.data_layout == "NCHW" else (2, 3)

    def weights(self, weight: np.ndarray) -> np.ndarray:
        """Plain weights `(O, I, KH, KW)`."""
        if weight.ndim == 4:
            layout = self.kernel_layout
            return convert(weight, layout, "OIHW")
        unpacked = unpack_bits(weight, *self.packed_axes())
        return unpacked if self.data_layout == "NCHW" else unpacked.transpose(3, 2, 0, 1)


@operator(
    "nn.bitserial_dense", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="BinaryDenseAttrs", level=1
)
@dataclass(frozen=True)
class BitserialDense(Operator):
    """`nn.dense` of data of `data_bits` and weights of `weight_bits`; weights of rank 3 are packed already."""

    differentiable = False

    units: int | None
    data_bits: int = 1
    weight_bits: int = 1
    pack_dtype: DType = VOID
    out_dtype: DType = VOID
    unipolar: bool = True

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """`(…, units)` of `out_dtype`, or the data's dtype."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if not data.shape or self.units is None:
            raise RelationError("the data must have an axis to sum over, and units must be given")
        require_bits(self.data_bits, "data_bits")
        require_bits(self.weight_bits, "weight_bits")
        require_integers(data, "the data")
        weight = tensor(types[1], "the weights")
        if weight is not None:
            require_integers(weight, "the weights")
            plain_shape: tuple[Dim, ...] = weight.shape
            if len(plain_shape) == 3:
                require_compatible(plain_shape[1], self.weight_bits, "the bits of packed weights and weight_bits")
                plain_shape = (plain_shape[0], mul(plain_shape[2], bits(weight.dtype)))
            if not same_shape(plain_shape, (self.units, data.shape[-1])):
                raise RelationError(f"the weights must be {show_shape((self.units, data.shape[-1]))}, not {weight}")
        return TensorType((*data.shape[:-1], self.units), self.out_dtype or data.dtype)

    def evaluate(self, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
        w = weight if weight.ndim == 2 else unpack_bits(weight, 2, 1)
        total = matmul(low_bits(data, self.data_bits), weight_values(w, self.weight_bits, self.unipolar).T, "int64")
        return total.astype(self.out_dtype or data.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        sums = exact(out_type)
        x = low_bits_expression(data, self.data_bits, sums.dtype)
        w = plain_weights(weight, (2, 1), self.weight_bits, self.unipolar, sums.dtype)
        return narrowed(product_expression(x, w, sums, False, True, tag="bitserial_dense"), out_type)
