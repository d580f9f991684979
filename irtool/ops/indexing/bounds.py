"""Indices out of range, in the reference; `irtool.te.guard` has the same for generated code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...deferred import np
from ...ir.dims import Dim
from ..base import Reporter


def clip_indices(indices: Any, extent: int) -> Any:
    """The nearest indices within `0 … extent - 1`, as int64; unsigned numbers are compared as such.

    An axis of extent 0 has none: the result is 0 and numpy refuses it where it is used.
    """
    last = max(extent - 1, 0)
    if indices.dtype.kind == "u":
        return np.minimum(indices.astype(np.uint64), np.uint64(last)).astype(np.int64)
    return np.clip(indices.astype(np.int64), 0, last)


def wrap_indices(indices: Any, extent: int) -> Any:
    """The indices within `0 … extent - 1` that differ by multiples of the extent, as int64."""
    wide = indices.astype(np.uint64 if indices.dtype.kind == "u" else np.int64)
    return np.mod(wide, wide.dtype.type(max(extent, 1))).astype(np.int64)


def require_places(reporter: Reporter, extents: Sequence[Dim], results: Sequence[Dim], what: str) -> None:
    """Requires places for indices along axes of these extents, for a result of the shape `results`."""
    reporter.require_elements(extents, results, f"{what} has no elements, so that no index is within it")
