"""Matrix products that accumulate as TVM's kernels do, or better.

Integers are exact modulo 2^bits of the result: they go through a floating-point product where that cannot round, which
is some fifty times faster than numpy's integer product. Half-precision numbers are summed in float32.
"""

from __future__ import annotations

from ...deferred import np
from ..conversion import convert
from ..dtypes import numpy_dtype


def as_dtype(dtype: np.dtype | str) -> np.dtype:
    """The numpy type of a name such as `float32` or `bfloat16`; a numpy type as it is."""
    return numpy_dtype(dtype) if isinstance(dtype, str) else np.dtype(dtype)


def is_integer(dtype: np.dtype | str) -> bool:
    """True for integers and bool."""
    return as_dtype(dtype).kind in "iub"


def accumulator(a: np.dtype, b: np.dtype, depth: int, out: np.dtype) -> np.dtype:
    """The dtype in which a sum of `depth` products of `a` and `b` is formed, to be rounded to `out` once at the end."""
    if not is_integer(out):
        return np.dtype("float64" if np.dtype(out) == np.float64 else "float32")
    bits = sum(_magnitude_bits(d) for d in (a, b)) + max(depth, 1).bit_length()
    if bits <= 24:
        return np.dtype("float32")
    return np.dtype("float64" if bits <= 53 else "int64")


def _magnitude_bits(dtype: np.dtype) -> int:
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return 1
    return 8 * dtype.itemsize - (1 if dtype.kind == "i" else 0) if is_integer(dtype) else 64


def finish(total: np.ndarray, out_dtype: str | np.dtype) -> np.ndarray:
    """An accumulated result in its own dtype; integers wrap around."""
    out = as_dtype(out_dtype)
    if total.dtype == out:
        return total
    if is_integer(out) and not is_integer(total.dtype):
        return total.astype(np.int64).astype(out)
    return convert(total, out)


def operands(a: np.ndarray, b: np.ndarray, depth: int, out_dtype: str | np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Both operands in the dtype in which their products are summed.

    Where the result is an integer, floats are first cut to its dtype; where it is bool, every number becomes one, so that the sum
    tells whether any product is True (numbers that cancel do not).
    """
    out = as_dtype(out_dtype)
    if out.kind == "b":
        a, b = convert(a, out), convert(b, out)
    elif is_integer(out):
        a = a if is_integer(a.dtype) else convert(a, out)
        b = b if is_integer(b.dtype) else convert(b, out)
    dtype = accumulator(a.dtype, b.dtype, depth, out)
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False)


def matmul(a: np.ndarray, b: np.ndarray, out_dtype: str | np.dtype) -> np.ndarray:
    """`a @ b` (leading axes broadcast) with the result in `out_dtype`."""
    left, right = operands(a, b, a.shape[-1], out_dtype)
    return finish(np.matmul(left, right), out_dtype)
