"""What schedules need to know of the processor."""

from __future__ import annotations

from dataclasses import dataclass

from ..tir import dtypes


@dataclass(frozen=True)
class Machine:
    """Bytes of a vector register and how many of them there are. `vector_bytes` 0: scalar code only."""

    vector_bytes: int = 16
    registers: int = 16

    def lanes_of(self, dtype: str) -> int:
        """Numbers of a vector: those of 16-bit floats are computed with in single precision."""
        return self.lanes(4 if dtype in ("float16", "bfloat16") else dtypes.itemsize(dtype))

    def lanes(self, itemsize: int) -> int:
        """Elements of a vector."""
        return max(1, self.vector_bytes // itemsize)
