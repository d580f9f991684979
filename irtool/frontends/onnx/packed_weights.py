"""Weights of 4 and 8 bits in blocks, as constants or parameters that stay packed: operands of `qnn.dequantize_blocks`."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Constant, TensorType, Var
from ...ir.conversion import marked
from ...ir.ndarray import storage
from .counts import require_count
from .mistakes import DamagedModel
from .names import RelayNames
from .value import Value, apply


class Weights(dict[Var, "np.ndarray"]):
    """The arrays of the parameters of `@main` that are weights."""

    def __init__(self, names: RelayNames) -> None:
        super().__init__()
        self.names = names
        self._packed: dict[tuple[Var, str, tuple[int, ...]], Var] = {}

    def packed(self, source: Var, array: np.ndarray, dtype: str) -> Var:
        """The parameter for the elements of another one in a dtype of its own; the same one for all readers."""
        key = source, dtype, array.shape
        var = self._packed.get(key)
        if var is None:
            t = TensorType(array.shape, dtype)
            var = self._packed[key] = Var(self.names.of(f"{source.name}_{dtype}"), t, None, t)
            self[var] = marked(array, dtype)
        return var


def stored(x: Value, array: np.ndarray, dtype: str) -> Value:
    """The elements of `array`, which hold those of `x`, in a narrow dtype: a parameter where `x` is one, else a constant."""
    array = np.ascontiguousarray(array, storage(dtype))
    if isinstance(x.weights, Weights) and isinstance(x.expr, Var):
        return Value(x.weights.packed(x.expr, array, dtype), array, parameter=True)
    return Value.of(Constant(array, dtype))


def signed(array: np.ndarray, bits: int) -> np.ndarray:
    """Unsigned numbers less the middle of their range, as signed ones of as many bits."""
    return (array.astype(np.int16) - (1 << (bits - 1))).astype(np.int8)


def unpacked_numbers(array: np.ndarray, bits: int) -> np.ndarray:
    """The unsigned numbers of fewer bits that bytes hold along the last axis, the first in the low bits."""
    shifts = np.array([*range(0, 8, bits)], np.uint8)
    parts = (array[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*array.shape[:-1], -1)


def stored_bytes(
    x: Value, numbers: np.ndarray, zeros: Value | None, points: np.ndarray | None, bits: int
) -> tuple[Value, Value]:
    """The data and the zero of weights of 2, 4 or 8 bits, of which `numbers` and `points` are the unsigned elements.

    Without zero points, the middle of the range is the zero, and the data are signed. Those of 2 bits take 4.
    """
    width = 8 if bits == 8 else 4
    if zeros is None or points is None:
        return stored(x, signed(numbers, bits), f"int{width}"), Value.constant(np.int32(0))
    return stored(x, numbers, f"uint{width}"), stored(zeros, points, f"uint{width}")


def dequantized_blocks(x: Value, scale: Value, zero: Value | None, axis: int, size: int, dtype: str) -> Value:
    """`(x - zero) * scale` by blocks along an axis. Raises IrError if scale and zero do not have an element for each block.

    `x` holds int8 or uint8, or numbers of 4 bits in these, which are stored two in a byte if they are known.
    """
    require_count(size, "block_size")
    shape = x.extents("a tensor that is quantized in blocks")
    expected = tuple(-(-d // size) if n == axis else d for n, d in enumerate(shape))
    for part, what in ((scale, "scale"), *([(zero, "zero point")] if zero is not None else [])):
        if tuple(part.shape) != expected and (part.rank or what == "scale"):
            raise IrError(
                f"the {what} has the shape {part.shape}, and the blocks of {size} are {expected}", code=DamagedModel
            )
    if x.narrow is not None and x.known is not None:
        x = stored(x, x.known, x.narrow.name)
    if zero is None or not _any(zero):
        zero = Value.constant(np.int32(0))
    elif zero.narrow is not None and zero.known is not None and x.dtype == zero.narrow.name:
        zero = stored(zero, zero.known, zero.narrow.name)
    elif zero.dtype != x.dtype:
        zero = zero.call("cast", dtype="int32")
    return apply("qnn.dequantize_blocks", x, scale, zero, axis=axis, block_size=size, out_dtype=dtype)


def _any(zero: Value) -> bool:
    """False for zero points that are known, and all 0."""
    known: Any = zero.known
    return known is None or zero.parameter or bool(np.any(known))


PACKED = ("int8", "uint8")
"""The dtypes that hold the data of `qnn.dequantize_blocks`."""
SCALES = ("float16", "bfloat16", "float32")
