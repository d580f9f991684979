"""Indices out of range, in the reference; `irtool.te.guard` has the same for generated code."""

from __future__ import annotations

from typing import Any

from ...deferred import np
from ...ir.dims import Dim
from ..base import RelationError


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


def require_elements(extents: tuple[Dim, ...], required: tuple[Dim, ...], what: str) -> None:
    """RelationError where elements are wanted (`required` is a shape without 0) from axes of which one is empty.

    Dimensions that are not known are taken not to be empty where they are read, and to be empty where they are wanted.
    """
    if 0 in extents and all(isinstance(d, int) and d for d in required):
        raise RelationError(f"{what} has no elements, so that no index is within it")
