"""Constants of `int4` and `uint4` in memory: two in a byte, unpacked by the kernels that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import te
from ..ir.narrow import NARROW, pack_rows, packed_bytes
from ..te.tensor import UNPACKED


def packed_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of the bytes: two neighbours along the last axis share one. A scalar has a byte of its own."""
    return (*shape[:-1], packed_bytes(shape[-1])) if shape else ()


def packed_data(data: Any) -> Any:
    """The bytes of an array that holds each element in a byte of its own."""
    return pack_rows(data).view(data.dtype) if data.ndim else data


def unpacked(shape: Sequence[int], dtype: str, name: str) -> tuple[te.Tensor, te.Tensor]:
    """The placeholder of the bytes of a tensor, and its elements as int32.

    A signed element is moved to the upper bits of the word and back, which repeats its sign.
    """
    stored = te.placeholder(packed_shape(shape), NARROW[dtype], name=name)

    def element(*i: Any) -> Any:
        if not i:
            return te.cast(stored[()], "int32")
        word = te.cast(stored[(*i[:-1], te.floordiv(i[-1], 2))], "int32")
        first_bit = te.floormod(i[-1], 2) * 4
        if dtype == "uint4":
            return (word >> first_bit) & 15
        return (word << (28 - first_bit)) >> 28

    return stored, te.compute(shape, element, name=f"{name}_unpacked", tag=UNPACKED)
