"""Pooling in numpy: one pass over the data per element of the window, none over pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...deferred import np
from ...diagnostics import IrError
from ..binary import truncated_quotient
from .convolve import Pads, pad_spatial, tap_view
from .geometry import single_window
from .precision import along, narrow, widen


def lowest(dtype: np.dtype) -> float | int:
    """The padding of a maximum: the least number of the dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return False if dtype.kind == "b" else float("-inf")


def max_windows(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    out: Sequence[int],
) -> np.ndarray:
    """The largest element of each window over the last axes of `x`; `out` positions along each."""
    x = pad_spatial(x, pads, lowest(x.dtype))
    best: np.ndarray | None = None
    for tap in product(*map(range, kernel)):
        seen = tap_view(x, tap, out, strides, dilation)
        best = seen.copy() if best is None else np.maximum(best, seen, out=best)
    if best is None:
        raise IrError(f"a window of {' x '.join(map(str, kernel))} has no element, and so no largest one")
    return best


def sum_windows(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    out: Sequence[int],
) -> np.ndarray:
    """The sum of each window over the last axes of `x`, padding counting as 0: `(…, *out)`, with `len(out)` axes of windows."""
    x, kernel, pads = _without_empty_ends(x, kernel, pads, dilation, out)
    x = pad_spatial(x, pads)
    total = np.zeros((*x.shape[: x.ndim - len(out)], *out), x.dtype)
    for tap in product(*map(range, kernel)):
        total += tap_view(x, tap, out, strides, dilation)
    return total


def _without_empty_ends(
    x: np.ndarray, kernel: Sequence[int], pads: Pads, dilation: Sequence[int], out: Sequence[int]
) -> tuple[np.ndarray, list[int], list[tuple[int, int]]]:
    """Data, windows and padding without the padding in single windows: some models average over far more than there is."""
    sizes, padding = [*kernel], [*pads]
    for i, (before, after) in enumerate(pads):
        axis = x.ndim - len(out) + i
        end = single_window(x.shape[axis], kernel[i], (before, after), dilation[i], out[i])
        if end is not None:
            x = x[(slice(None),) * axis + (slice(0, end),)]
            sizes[i], padding[i] = end, (0, 0)
    return x, sizes, padding


def window_counts(
    size: int, kernel: int, stride: int, pad: tuple[int, int], dilation: int, out: int, with_padding: bool
) -> np.ndarray:
    """The number of elements of each window along an axis of `size`: those of the data, or those of the padding as well.

    Elements beyond the padding, which `ceil_mode` may reach, never count.
    """
    first, end = (-pad[0], size + pad[1]) if with_padding else (0, size)
    taps = np.arange(out)[:, None] * stride - pad[0] + np.arange(kernel) * dilation
    return ((taps >= first) & (taps < end)).sum(axis=1)


def average_windows(
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    out: Sequence[int],
    extra: Sequence[int],
    with_padding: bool,
) -> np.ndarray:
    """The mean of each window over the last axes of `x`; `extra` is the padding that `ceil_mode` adds behind."""
    rank = len(out)
    reached = [(before, after + e) for (before, after), e in zip(pads, extra, strict=True)]
    total = sum_windows(widen(x), kernel, strides, reached, dilation, out)
    counts = np.ones((), np.int64)
    for i in range(rank):
        valid_counts = window_counts(
            x.shape[x.ndim - rank + i], kernel[i], strides[i], pads[i], dilation[i], out[i], with_padding
        )
        counts = counts[..., None] * valid_counts
    return divide(total, np.maximum(counts, 1), x.dtype)


def divide(total: np.ndarray, counts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`total / counts` in `dtype`; integers are cut off towards zero."""
    if total.dtype.kind in "iu":
        return truncated_quotient(total.astype(np.int64), counts).astype(dtype)
    return narrow(total / counts.astype(total.dtype), dtype)


def adaptive_bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Start and end of each of `out` windows that together cover an axis of `size`."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def adaptive_windows(x: np.ndarray, axes: Sequence[int], sizes: Sequence[int], average: bool) -> np.ndarray:
    """Maximum or mean over windows whose number, not extent, is given along each of `axes`."""
    reduce = np.add.reduce if average else np.maximum.reduce
    counts = np.ones([1] * x.ndim, np.int64)
    y = widen(x) if average else x
    for axis, out in zip(axes, sizes, strict=True):
        bounds = adaptive_bounds(x.shape[axis], out)
        if not out:
            y = y[tuple(slice(0) if a == axis else slice(None) for a in range(x.ndim))]
        elif out == 1:
            y = reduce(y, axis=axis, keepdims=True, dtype=y.dtype)
        else:
            parts = [reduce(np.take(y, range(a, b), axis=axis), axis=axis, dtype=y.dtype) for a, b in bounds]
            y = np.stack(parts, axis=axis)
        counts = counts * along(np.array([b - a for a, b in bounds], np.int64), x.ndim, axis)
    return divide(y, counts, x.dtype) if average else y
