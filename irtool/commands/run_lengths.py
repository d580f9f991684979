"""Lengths that a run decides, for values that a command draws or cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..symbolic_int import Symbol, SymbolicInt, symbols_of, value_at

if TYPE_CHECKING:
    from ..ir import Function, Type


def lengths_of(function: Function) -> list[Symbol]:
    """The lengths in the types of the parameters, in the order in which they appear."""
    return symbols_of(d for p in function.params for d in _extents(p.checked_type or p.type_annotation))


def _extents(t: Type | None) -> Iterator[int]:
    from ..ir import TensorType
    from ..ir.types import tuple_leaves

    for leaf in tuple_leaves(t) if t is not None else ():
        if isinstance(leaf, TensorType):
            yield from (d for d in leaf.shape if isinstance(d, int))


def known_lengths(function: Function, arrays: Mapping[str, Any]) -> dict[Symbol, int]:
    """The lengths that arrays of parameters have; the greatest ones where no array says them."""
    from ..ir import TensorType

    values: dict[Symbol, int] = {}
    for p in function.params:
        t, shape = p.checked_type or p.type_annotation, getattr(arrays.get(p.name), "shape", ())
        if isinstance(t, TensorType) and len(shape) == len(t.shape):
            for d, size in zip(t.shape, shape, strict=True):
                for s in symbols_of([d]) if isinstance(d, SymbolicInt) else ():
                    if str(d) == s.name:
                        values.setdefault(s, size)
    return {s: values.get(s, s.high) for s in lengths_of(function)}


def type_at(t: Type, values: Mapping[Symbol, int]) -> Type:
    """The type with numbers for the lengths."""
    from ..ir import TensorType
    from ..ir.types import rewrite_type

    def settled(x: Type) -> Type:
        if not isinstance(x, TensorType):
            return x
        return TensorType(tuple(value_at(d, values) if isinstance(d, int) else d for d in x.shape), x.dtype)

    return rewrite_type(t, settled) if any(isinstance(d, SymbolicInt) for d in _extents(t)) else t


def timed_lengths(symbols: Sequence[Symbol]) -> list[dict[Symbol, int]]:
    """Lengths to time: the least, a quarter, a half, and the greatest of each."""
    if not symbols:
        return []
    steps = (0, 1, 2, 4)
    rows = [{s: s.low + (s.high - s.low) * n // 4 for s in symbols} for n in steps]
    return [row for n, row in enumerate(rows) if row not in rows[:n]]


def cut_values(function: Function, values: Sequence[Any], lengths: Mapping[Symbol, int]) -> list[Any] | None:
    """The first elements of arrays, as many as the parameters have at these lengths; None if an array has fewer."""
    import numpy as np

    from ..ir import TensorType

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
