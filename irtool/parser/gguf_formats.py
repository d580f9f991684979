"""Formats of tensors in GGUF files: blocks of bytes as integers and scales, without loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ir.block_tensor import BlockTensor
from ..ir.conversion import as_bfloat16_bits

if TYPE_CHECKING:
    import numpy as np

_SUPER = 256
"""Elements of a block of blocks, of formats with scales of scales."""


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: its name in the format's own texts.
        block: elements of a block; 1: plain numbers.
        nbytes: bytes of a block.
        decode: the tensor of blocks `(count, nbytes)`, whose rows have so many elements.
    """

    name: str
    block: int
    nbytes: int
    decode: Callable[[np.ndarray, Sequence[int]], np.ndarray | BlockTensor]


def decode(data: memoryview, number: int, shape: Sequence[int]) -> np.ndarray | BlockTensor:
    """The tensor of a shape, whose rows are whole blocks, from its bytes."""
    import numpy as np

    form = FORMATS[number]
    return form.decode(np.frombuffer(data, np.uint8).reshape(-1, form.nbytes), shape)


def _plain(dtype: str) -> Callable[[np.ndarray, Sequence[int]], np.ndarray]:
    """Plain numbers."""

    def numbers(blocks: np.ndarray, shape: Sequence[int]) -> np.ndarray:
        import numpy as np

        stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
        array = blocks.reshape(-1).view(stored.newbyteorder("<")).astype(stored, copy=False).reshape(tuple(shape))
        return as_bfloat16_bits(array) if dtype == "bfloat16" else array

    return numbers


def _halves(blocks: np.ndarray, first: int, shape: Sequence[int], block: int) -> np.ndarray:
    """The float16 at a byte of each block, an element for each block of a row."""
    bits = blocks[:, first : first + 2].copy().view("<u2").astype("uint16").view("float16")
    return bits.reshape(*shape[:-1], shape[-1] // block)


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """The low halves of the bytes of each row, then the high ones."""
    import numpy as np

    return np.concatenate([packed & np.uint8(15), packed >> np.uint8(4)], axis=-1)


def _fifth_bits(blocks: np.ndarray, first: int) -> np.ndarray:
    """The 32 bits at a byte of each block, as 0 and 16."""
    import numpy as np

    return np.unpackbits(blocks[:, first : first + 4], axis=-1, bitorder="little") << np.uint8(4)


def _signed(numbers: np.ndarray, middle: int) -> np.ndarray:
    import numpy as np

    return (numbers.view(np.int8) - np.int8(middle)).astype(np.int8)


def _q4_0(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    data = _signed(_nibbles(blocks[:, 2:]), 8).reshape(tuple(shape))
    return BlockTensor(data, "int4", _halves(blocks, 0, shape, 32), 0, 32, "Q4_0")


def _q4_1(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    data = _nibbles(blocks[:, 4:]).reshape(tuple(shape))
    scale, least = _halves(blocks, 0, shape, 32), _halves(blocks, 2, shape, 32)
    return BlockTensor(data, "uint4", scale, least, 32, "Q4_1")


def _q5_0(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    data = _signed(_nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2), 16).reshape(tuple(shape))
    return BlockTensor(data, "int8", _halves(blocks, 0, shape, 32), 0, 32, "Q5_0")


def _q5_1(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    data = (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)).reshape(tuple(shape))
    scale, least = _halves(blocks, 0, shape, 32), _halves(blocks, 2, shape, 32)
    return BlockTensor(data, "uint8", scale, least, 32, "Q5_1")


def _q8_0(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    data = blocks[:, 2:].copy().view("int8").reshape(tuple(shape))
    return BlockTensor(data, "int8", _halves(blocks, 0, shape, 32), 0, 32, "Q8_0")


def _q4_k(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    """Blocks of 32 with scales and minima of 6 bits, themselves in blocks of 8 with a scale for each."""
    import numpy as np

    packed = blocks[:, 16:].reshape(-1, 4, 32)
    data = _nibbles(packed).reshape(tuple(shape))
    q = blocks[:, 4:16]
    first, second, third = q[:, :4], q[:, 4:8], q[:, 8:]
    scales = np.concatenate(
        [first & np.uint8(63), (third & np.uint8(15)) | ((first >> np.uint8(6)) << np.uint8(4))], -1
    )
    minima = np.concatenate(
        [second & np.uint8(63), (third >> np.uint8(4)) | ((second >> np.uint8(6)) << np.uint8(4))], -1
    )
    few = (*shape[:-1], shape[-1] // 32)
    scale = BlockTensor(scales.reshape(few), "uint8", _halves(blocks, 0, shape, _SUPER), 0, 8, "scales of Q4_K")
    least = BlockTensor(minima.reshape(few), "uint8", -_halves(blocks, 2, shape, _SUPER), 0, 8, "minima of Q4_K")
    return BlockTensor(data, "uint4", scale, least, 32, "Q4_K")


def _q6_k(blocks: np.ndarray, shape: Sequence[int]) -> BlockTensor:
    """Blocks of 16 with scales of 8 bits, themselves in blocks of 16 with a scale for each."""
    import numpy as np

    low = _nibbles(blocks[:, :128].reshape(-1, 2, 64)).reshape(-1, 2, 4, 32)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None]
    numbers = low | ((high & np.uint8(3)) << np.uint8(4))
    data = _signed(np.ascontiguousarray(numbers), 32).reshape(tuple(shape))
    scales = blocks[:, 192:208].copy().view("int8").reshape(*shape[:-1], shape[-1] // 16)
    scale = BlockTensor(scales, "int8", _halves(blocks, 208, shape, _SUPER), 0, 16, "scales of Q6_K")
    return BlockTensor(data, "int8", scale, 0, 16, "Q6_K")


FORMATS = {
    0: Format("F32", 1, 4, _plain("float32")),
    1: Format("F16", 1, 2, _plain("float16")),
    2: Format("Q4_0", 32, 18, _q4_0),
    3: Format("Q4_1", 32, 20, _q4_1),
    6: Format("Q5_0", 32, 22, _q5_0),
    7: Format("Q5_1", 32, 24, _q5_1),
    8: Format("Q8_0", 32, 34, _q8_0),
    12: Format("Q4_K", _SUPER, 144, _q4_k),
    14: Format("Q6_K", _SUPER, 210, _q6_k),
    24: Format("I8", 1, 1, _plain("int8")),
    25: Format("I16", 1, 2, _plain("int16")),
    26: Format("I32", 1, 4, _plain("int32")),
    27: Format("I64", 1, 8, _plain("int64")),
    28: Format("F64", 1, 8, _plain("float64")),
    30: Format("BF16", 1, 2, _plain("bfloat16")),
}
"""The formats by their number."""

NAMES = {
    9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL",
    21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
"""Formats without a form in Relay."""
