"""Integers of 4 bits: `int4` and `uint4`, of which a file holds two in each byte.

Arrays hold each in a byte of its own, `int8` or `uint8`; files, texts and generated code hold the elements in order, the first of
each two in the low bits. numpy has no such type: arrays of inputs and parameters are marked as `bfloat16` is (`ir.conversion`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

NARROW = {"int4": "int8", "uint4": "uint8"}
"""The numpy dtype that holds the elements of each."""

LIMITS = {"int4": (-8, 7), "uint4": (0, 15)}
"""The least and the greatest element of each."""


def packed_bytes(count: int) -> int:
    """The bytes of so many elements."""
    return -(-count // 2)


def pack(array: np.ndarray) -> np.ndarray:
    """The elements of an array, in order, two in each byte; the last four bits are 0 if their number is odd."""
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & np.uint8(15)
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return flat[::2] | (flat[1::2] << np.uint8(4))


def pack_rows(array: np.ndarray) -> np.ndarray:
    """The elements with two neighbours along the last axis in each byte: `(…, K)` becomes `(…, ceil(K / 2))`; each row begins a byte."""
    import numpy as np

    k = array.shape[-1]
    if k % 2:
        array = np.concatenate([array, np.zeros((*array.shape[:-1], 1), array.dtype)], axis=-1)
    return pack(array).reshape(*array.shape[:-1], packed_bytes(k))


def unpack(data: np.ndarray, count: int, dtype: str) -> np.ndarray:
    """The first `count` elements of packed bytes, one in each byte."""
    import numpy as np

    flat = np.empty(2 * data.size, np.uint8)
    flat[::2] = data & np.uint8(15)
    flat[1::2] = data >> np.uint8(4)
    flat = flat[:count]
    if dtype == "uint4":
        return flat
    return ((flat ^ np.uint8(8)) - np.uint8(8)).view(np.int8)
