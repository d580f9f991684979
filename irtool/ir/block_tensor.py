"""Weights in blocks, as files of packed models hold them: parts of `qnn.dequantize_blocks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .ndarray import storage

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, eq=False)
class BlockTensor:
    """A tensor `(data - zero) * scale`, or `data * scale + zero` if the zero is in floats, with blocks along the last axis.

    Attributes:
        data: integers, in the dtype that holds `dtype`.
        dtype: `int4`, `uint4`, `int8` or `uint8`.
        scale: an element for each block: an array of float16 or float32, or a tensor in blocks itself.
        zero: the same, or 0.
        block: elements of a block.
        name: the format's own name, for messages.
    """

    data: np.ndarray
    dtype: str
    scale: np.ndarray | BlockTensor
    zero: np.ndarray | BlockTensor | int
    block: int
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the tensor."""
        return tuple(self.data.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its parts, two elements of 4 bits in each."""
        own = self.data.nbytes if storage(self.dtype) == self.dtype else -(-self.data.size // 2)
        return own + sum(p.nbytes for p in (self.scale, self.zero) if not isinstance(p, int))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The elements in float32."""
        import numpy as np

        scale, zero = (self._spread(p) for p in (self.scale, self.zero))
        real = self.data.astype(np.float32) * scale + zero
        return real if dtype is None else real.astype(dtype)

    def _spread(self, part: np.ndarray | BlockTensor | int) -> Any:
        """The value for each element."""
        import numpy as np

        if isinstance(part, int):
            return np.float32(0)
        values = np.asarray(part).astype(np.float32)
        return np.repeat(values, self.block, axis=-1)[..., : self.data.shape[-1]]
