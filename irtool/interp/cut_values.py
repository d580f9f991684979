"""Arrays at other lengths: their first elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..deferred import np
from ..ir import Function, TensorType
from ..symbolic_int import Symbol, value_at


def cut_values(function: Function, values: Sequence[Any], lengths: Mapping[Symbol, int]) -> list[Any] | None:
    """The first elements of arrays, as many as the parameters have at these lengths; None if an array has fewer."""
    result = []
    for p, v in zip(function.params, values, strict=True):
        t = p.checked_type or p.type_annotation
        if not isinstance(t, TensorType):
            result.append(v)
            continue
        shape = [value_at(d, lengths) for d in t.shape if isinstance(d, int)]
        if any(size < extent for size, extent in zip(v.shape, shape, strict=True)):
            return None
        result.append(np.ascontiguousarray(v[tuple(slice(0, d) for d in shape)]))
    return result
