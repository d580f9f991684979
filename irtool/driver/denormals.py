"""Denormal constants of a program, which are 0 in its build."""

from __future__ import annotations

from typing import Any

from ..array_blocks import blocks
from ..tir.program import Program

_EXPONENTS = {"float32": ("uint32", 0x7F800000), "float64": ("uint64", 0x7FF << 52), "bfloat16": ("uint16", 0x7F80)}
"""By dtype, that of the same bits, and the bits of the exponent: 0 of zeros and denormal numbers. Those of float16 are none in float32,
in which they are computed with."""


def flush_constants(program: Program) -> tuple[str, ...]:
    """Sets the denormal numbers among a program's constants to zeros of their sign; notes that say how many there were.

    Trained weights have them where decay made them small. Constants that are packed for kernels are derived from what is left.
    """
    flushed = total = 0
    for slot in dict.fromkeys(c.origin for c in program.constants):
        if slot.dtype in _EXPONENTS:
            data, count = _flushed(slot.data, *_EXPONENTS[slot.dtype])
            total += slot.size
            if count:
                slot.replace_data(data)
                flushed += count
    if not flushed:
        return ()
    numbers = f"{flushed} of {total} floating-point constants {'is a denormal number' if flushed == 1 else 'are denormal numbers'}"
    return (f"note: {numbers}, and 0 in this build; --math=strict keeps them",)


def _flushed(data: Any, unsigned: str, exponent: int) -> tuple[Any, int]:
    """A copy with zeros for denormal numbers, and how many there were."""
    import numpy as np

    dtype = np.dtype(unsigned).type
    sign = dtype(1 << (8 * data.dtype.itemsize - 1))

    def is_small(bits: Any) -> Any:
        return (bits & dtype(exponent)) == 0

    count = 0
    for block in blocks(data):
        bits = block.view(unsigned)
        count += int(np.count_nonzero(is_small(bits) & ((bits & ~sign) != 0)))
    if not count:
        return data, 0
    bits = np.ascontiguousarray(data).view(unsigned)
    return np.where(is_small(bits), bits & sign, bits).astype(dtype).view(data.dtype).reshape(data.shape), count
