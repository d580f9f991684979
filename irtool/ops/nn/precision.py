"""Half-precision tensors are computed on in float32 and rounded once."""

from __future__ import annotations

from ...deferred import np
from ..conversion import convert


def widen(x: np.ndarray) -> np.ndarray:
    """float32 for a floating-point type of 16 bits or fewer; anything else as it is."""
    if x.dtype.kind in "biuc" or x.dtype.itemsize >= 4:
        return x
    return x.astype(np.float32)


def sums_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of sums: float32 for a floating-point type of 16 bits or fewer, else the same."""
    return widen(np.empty(0, dtype)).dtype


def narrow(x: np.ndarray, dtype: np.dtype | str) -> np.ndarray:
    """`x` as `dtype`."""
    return convert(x, dtype)


def along(vector: np.ndarray, rank: int, axis: int) -> np.ndarray:
    """A vector shaped to broadcast along `axis` of a tensor of that rank."""
    shape = [1] * rank
    shape[axis] = -1
    return vector.reshape(shape)
