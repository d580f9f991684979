"""Convolutions in numpy, as matrix products.

All functions take data as `(N, C, spatial…)` with any number of spatial axes, of `groups` groups of channels.
`pads` holds the padding before and after each spatial axis. Nothing loops over pixels: an ordinary convolution unrolls
blocks of windows into columns and multiplies (im2col), a depthwise one loops over the kernel's taps, a transposed one
multiplies first and adds the columns up where they overlap (col2im).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from ...deferred import np
from .gemm import finish, operands

BLOCK_BYTES = 8 << 20
"""Elements of unrolled windows in memory at a time; about the size of the last cache."""

Pads = Sequence[tuple[int, int]]


def output_extents(
    spatial: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilation: Sequence[int]
) -> tuple[int, ...]:
    """Number of window positions along each axis. Raises ValueError for a window larger than its axis."""
    out = []
    for i, (size, k, s, (before, after), d) in enumerate(zip(spatial, kernel, strides, pads, dilation, strict=True)):
        extent = (size + before + after - (k - 1) * d - 1) // s + 1
        if extent < 0:
            raise ValueError(
                f"spatial axis {i}: a window of {(k - 1) * d + 1} does not fit into {size} + {before} + {after}"
            )
        out.append(extent)
    return tuple(out)


def pad_spatial(x: np.ndarray, pads: Pads, value: float = 0) -> np.ndarray:
    """`x` with its last axes padded; a negative amount cuts off."""
    if not any(a or b for a, b in pads):
        return x
    lead = x.ndim - len(pads)
    if any(a < 0 or b < 0 for a, b in pads):
        cut = tuple(slice(max(-a, 0), x.shape[lead + i] - max(-b, 0)) for i, (a, b) in enumerate(pads))
        x = x[(slice(None),) * lead + cut]
        pads = [(max(a, 0), max(b, 0)) for a, b in pads]
    return np.pad(x, [(0, 0)] * lead + list(pads), constant_values=value)


def tap_view(
    x: np.ndarray, tap: Sequence[int], out: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """The elements of the kernel's tap `tap` at each output position: a strided view of padded data `x`."""
    lead = x.ndim - len(out)
    cut = tuple(
        slice(t * d, t * d + (o - 1) * s + 1 if o else t * d, s)
        for t, o, s, d in zip(tap, out, strides, dilation, strict=True)
    )
    return x[(slice(None),) * lead + cut]


def convolve(
    x: np.ndarray,
    w: np.ndarray,
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    groups: int,
    out_dtype: str | np.dtype,
) -> np.ndarray:
    """Cross-correlation of `(N, C, spatial…)` with weights `(O, C / groups, kernel…)`."""
    batch, channels, *spatial = x.shape
    outputs, depth, *kernel = w.shape
    if depth * groups != channels or outputs % groups:
        raise ValueError(f"{channels} channels in {groups} groups do not meet weights of shape {w.shape}")
    out = output_extents(spatial, kernel, strides, pads, dilation)
    x, w = operands(x, w, depth * prod(kernel), out_dtype)
    x = pad_spatial(x, pads)
    if depth == 1 and groups > 1:
        total = _depthwise(x, w, strides, dilation, out)
    elif prod(kernel) == 1:
        seen = tap_view(x, (0,) * len(out), out, strides, dilation)
        columns = seen.reshape(batch, groups, depth, prod(out))
        total = np.matmul(w.reshape(groups, outputs // groups, depth), columns)
    else:
        total = _unrolled(x, w, strides, dilation, groups, out)
    return finish(total.reshape(batch, outputs, *out), out_dtype)


def _depthwise(
    x: np.ndarray, w: np.ndarray, strides: Sequence[int], dilation: Sequence[int], out: Sequence[int]
) -> np.ndarray:
    batch, channels = x.shape[:2]
    multiplier = w.shape[0] // channels
    taps = w.reshape(channels, multiplier, *w.shape[2:])
    ones = (1,) * len(out)
    total = np.zeros((batch, channels, multiplier, *out), x.dtype)
    for tap in product(*map(range, w.shape[2:])):
        seen = tap_view(x, tap, out, strides, dilation)
        total += seen[:, :, None] * _at(taps, tap).reshape(channels, multiplier, *ones)
    return total


def _unrolled(
    x: np.ndarray, w: np.ndarray, strides: Sequence[int], dilation: Sequence[int], groups: int, out: Sequence[int]
) -> np.ndarray:
    batch = x.shape[0]
    outputs, depth, *kernel = w.shape
    rank = len(out)
    rows = depth * prod(kernel)
    weights = w.reshape(groups, outputs // groups, rows)
    total = np.empty((batch, groups, outputs // groups, *out), x.dtype)
    if not total.size:
        return total
    windows = np.lib.stride_tricks.sliding_window_view(
        x, tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)), axis=tuple(range(2, 2 + rank))
    )
    every = tuple(slice(0, (o - 1) * s + 1, s) for o, s in zip(out, strides, strict=True))
    windows = windows[(slice(None), slice(None), *every, *(slice(None, None, d) for d in dilation))]
    # (N, C, out…, kernel…) -> (N, groups, depth, kernel…, out…): a column per position.
    windows = (
        windows.reshape(batch, groups, depth, *windows.shape[2:]) if groups == 1 else _split_groups(windows, groups)
    )
    windows = windows.transpose(0, 1, 2, *range(3 + rank, 3 + 2 * rank), *range(3, 3 + rank))
    row_bytes = batch * groups * rows * prod(out[1:]) * x.itemsize
    step = max(1, min(out[0], BLOCK_BYTES // max(row_bytes, 1)))
    for start in range(0, out[0], step):
        block = windows[(slice(None),) * (3 + rank) + (slice(start, start + step),)]
        columns = block.reshape(batch, groups, rows, prod(block.shape[3 + rank :]))
        total[:, :, :, start : start + step] = np.matmul(weights, columns).reshape(
            batch, groups, outputs // groups, *block.shape[3 + rank :]
        )
    return total


def _at(x: np.ndarray, tap: tuple[int, ...]) -> np.ndarray:
    """`x[:, :, *tap]`."""
    index: Any = (slice(None), slice(None), *tap)
    return x[index]


def _split_groups(windows: np.ndarray, groups: int) -> np.ndarray:
    """Splits axis 1 of a strided view without copying it."""
    from numpy.lib.stride_tricks import as_strided

    depth = windows.shape[1] // groups
    shape = (windows.shape[0], groups, depth, *windows.shape[2:])
    strides = (windows.strides[0], windows.strides[1] * depth, windows.strides[1], *windows.strides[2:])
    return as_strided(windows, shape, strides, writeable=False)


def convolve_transposed(
    x: np.ndarray,
    w: np.ndarray,
    strides: Sequence[int],
    pads: Pads,
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    out_dtype: str | np.dtype,
) -> np.ndarray:
    """Transposed convolution of `(N, C, spatial…)` with weights `(C, O / groups, kernel…)`.

    What taps meet beside the data are zeros, as in `convolve`; they matter to infinite weights only.
    """
    if not np.isfinite(w).all():
        margins = [
            ((k - 1) * d + p) // s + 1
            for k, s, d, p in zip(w.shape[2:], strides, dilation, output_padding, strict=True)
        ]
        x = pad_spatial(x, [(m, m) for m in margins])
        pads = [(a + m * s, b + m * s) for (a, b), m, s in zip(pads, margins, strides, strict=True)]
    batch, channels, *spatial = x.shape
    inputs, outputs, *kernel = w.shape
    if inputs != channels or channels % groups:
        raise ValueError(f"{channels} channels in {groups} groups do not meet weights of shape {w.shape}")
    x, w = operands(x, w, channels // groups * prod(kernel), out_dtype)
    full = tuple(
        s * (size - 1) + (k - 1) * d + 1 + p
        for size, k, s, d, p in zip(spatial, kernel, strides, dilation, output_padding, strict=True)
    )
    weights = w.reshape(groups, channels // groups, outputs * prod(kernel)).swapaxes(1, 2)
    columns = np.matmul(weights, x.reshape(batch, groups, channels // groups, prod(spatial)))
    columns = columns.reshape(batch, groups * outputs, *kernel, *spatial)
    total = np.zeros((batch, groups * outputs, *full), x.dtype)
    for tap in product(*map(range, kernel)):
        tap_view(total, tap, spatial, strides, dilation)[...] += _at(columns, tap)
    return finish(np.ascontiguousarray(pad_spatial(total, [(-a, -b) for a, b in pads])), out_dtype)


def convolve_weight_gradient(
    gradient: np.ndarray,
    x: np.ndarray,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilation: Sequence[int],
    groups: int,
    out_dtype: str | np.dtype,
) -> np.ndarray:
    """Gradient of `convolve` by its weights, `(O, C / groups, kernel…)`, from the gradient by its result."""
    batch, outputs, *out = gradient.shape
    channels = x.shape[1]
    gradient, x = operands(gradient, x, batch * prod(out), out_dtype)
    reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(out, strides, kernel, dilation, strict=True)]
    x = pad_spatial(x, pads)
    short = [(0, max(0, r - size)) for r, size in zip(reach, x.shape[2:], strict=True)]
    x = pad_spatial(x, short)
    count = prod(out)
    by_group = gradient.reshape(batch, groups, outputs // groups, count).transpose(1, 2, 0, 3)
    left = by_group.reshape(groups, outputs // groups, batch * count)
    total = np.empty((outputs, channels // groups, *kernel), x.dtype)
    for tap in product(*map(range, kernel)):
        seen = tap_view(x, tap, out, strides, dilation).reshape(batch, groups, channels // groups, count)
        right = seen.transpose(1, 0, 3, 2).reshape(groups, batch * count, channels // groups)
        _at(total, tap)[...] = np.matmul(left, right).reshape(outputs, channels // groups)
    return finish(total, out_dtype)
