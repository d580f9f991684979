"""Arrays as TVM's scripts write them: numpy's arrays, with `.numpy()`."""

from __future__ import annotations

from typing import Any

from ...deferred import np


class NDArray(np.ndarray):
    """A numpy array that also has TVM's names."""

    def numpy(self) -> Any:
        """The same elements as a plain numpy array."""
        return np.asarray(self)

    asnumpy = numpy

    @property
    def device(self) -> Any:
        """This processor."""
        from . import cpu

        return cpu()


def array(arr: Any, device: Any = None) -> NDArray:
    """An array of numbers; floats of Python become float32, as in TVM. `device` is not looked at."""
    values = np.asarray(arr)
    if not hasattr(arr, "dtype") and values.dtype == np.float64:
        values = values.astype(np.float32)
    return values.view(NDArray)


def empty(shape: Any, dtype: str = "float32", device: Any = None) -> NDArray:
    """An array of zeros of a shape."""
    return np.zeros(shape, dtype).view(NDArray)


def wrapped(value: Any) -> Any:
    """A result with `.numpy()`: an array, or a tuple of such; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(wrapped(v) for v in value)
    return np.asarray(value).view(NDArray) if isinstance(value, np.ndarray | np.generic) else value
