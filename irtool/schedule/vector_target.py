"""What schedules know of the processor: its vectors, and the numbers by which nests are sized for it."""

from __future__ import annotations

from dataclasses import dataclass

from ..tir import dtypes


@dataclass(frozen=True)
class VectorTarget:
    """A processor core with vectors.

    The first two come from the compiler; the others are those of current cores, and were found by measuring.

    Attributes:
        vector_bytes: bytes of a vector register; 0: scalar code only.
        registers: vector registers.
        latency: cycles until the result of a multiply-add can be used.
        stack_bytes: bytes of a buffer that is kept on the stack, and so in the first cache.
        packed_bytes: bytes of a packed operand that may lie in the workspace, and so in the second cache.
        streamed_bytes: bytes that a loop over rows touches from which on it does one row at a time: they come from far, and in
            one stream come fastest.
        parallel_updates: updates of a reduction that are worth sharing among threads.
        parallel_elements: elements of a map, or of sums of rows, that are.
    """

    vector_bytes: int = 16
    registers: int = 16
    latency: int = 4
    stack_bytes: int = 1 << 15
    packed_bytes: int = 1 << 18
    streamed_bytes: int = 1 << 21
    parallel_updates: int = 1 << 18
    parallel_elements: int = 1 << 15

    def lanes_of(self, dtype: str) -> int:
        """Lanes per vector; 16-bit floats count as float32, in which they are computed."""
        return self.lanes(4 if dtype in ("float16", "bfloat16") else dtypes.itemsize(dtype))

    def lanes(self, itemsize: int) -> int:
        """Elements of a vector."""
        return max(1, self.vector_bytes // itemsize)
