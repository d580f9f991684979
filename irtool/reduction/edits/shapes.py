"""Extents shrink, consistently: parameters, constants and attributes change, the other types are inferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir import ANY, Constant, Expr, MissingData, TensorType, Type, Var, rewrite_type, with_function
from ..case import Case, nodes_of
from ..search import Search
from .placeholders import with_parameters
from .replacing import entries
from .retyping import retyped

Change = Callable[[int], int]

_SMALL = (1, 2, 3, 4)
"""Extents that are tried before halves."""


def shrink_extents(search: Search) -> None:
    """One extent after the other, largest first, becomes smaller wherever it stands.

    Numbers of attributes (`channels`, `newshape`) change with it if that is well typed, and so do its multiples and its
    square's, as flattening makes them.
    """
    done: set[int] = set()
    while left := [d for d in _extents(search.best) if d not in done]:
        extent = max(left)
        done.add(extent)
        smaller = dict.fromkeys([n for n in _SMALL if n < extent] + [extent // 2] * (extent > 2))
        any(_try(search, extent, new) for new in smaller)


def _try(search: Search, extent: int, new: int) -> bool:
    def exact(d: int) -> int:
        return new if d == extent else d

    def multiples(d: int) -> int:
        return d // extent * new if d and d % extent == 0 else d

    def squares(d: int) -> int:
        return d // extent**2 * new**2 if d and d % extent**2 == 0 else exact(d)

    tried = ((exact, True), (exact, False), (multiples, True), (squares, True))
    return any(search.attempt(_changed(search.best, change, attributes)) for change, attributes in tried)


def _extents(case: Case) -> list[int]:
    """The extents above 1 in types of parameters and constants."""
    extents: dict[int, None] = {}

    def note(t: Type) -> Type:
        if isinstance(t, TensorType):
            extents.update(dict.fromkeys(int(d) for d in t.shape if isinstance(d, int) and d > 1))
        return t

    for _, e in nodes_of(case.module):
        types = [e.checked_type] if isinstance(e, Constant) else [p.checked_type for p in getattr(e, "params", ())]
        for t in types:
            if t is not None:
                rewrite_type(t, note)
    return list(extents)


def _changed(case: Case, change: Change, attributes: bool) -> Case | None:
    def leaf(t: Type) -> Type:
        if not isinstance(t, TensorType):
            return t
        return TensorType(tuple(change(int(d)) if isinstance(d, int) else d for d in t.shape), t.dtype)

    return retyped(case, leaf, lambda e: _cut(e, change), (lambda v: _number(v, change)) if attributes else None)


def _number(value: Any, change: Change) -> Any:
    """The value with other numbers; the same object if none changes."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if change(int(value)) == value else change(int(value))
    if isinstance(value, tuple):
        parts = tuple(_number(v, change) for v in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value


def _cut(e: Constant, change: Change) -> Constant:
    """The first elements along each axis, padded with zeros."""
    import numpy as np

    assert not isinstance(e.data, MissingData)
    shape = tuple(change(d) for d in e.data.shape)
    if e.data.shape == shape:
        return e
    values = e.data[tuple(slice(0, n) for n in shape)]
    resized = np.zeros(shape, e.data.dtype)
    resized[tuple(slice(0, n) for n in values.shape)] = values
    return Constant(resized, e.dtype)


def shrink_axes(search: Search) -> None:
    """Single axes of parameters of functions that nothing refers to get the extent 1, as broadcasting allows it."""
    for name in entries(search.best.module):
        case = search.best
        sites = [
            (p, axis)
            for p in case.module.functions[name].params
            if isinstance(p.checked_type, TensorType)
            for axis, d in enumerate(p.checked_type.shape)
            if d is ANY or (isinstance(d, int) and d > 1)
        ]

        def shrunk(chosen: Sequence[tuple[Var, int]], case: Case = case, name: str = name) -> Case:
            f = case.module.functions[name]
            picked: dict[Var, list[int]] = {}
            for p, axis in chosen:
                picked.setdefault(p, []).append(axis)
            return case.with_function(name, _with_ones(f, picked))

        search.keep_most(sites, shrunk)


def _with_ones(f: Any, picked: dict[Var, list[int]]) -> Any:
    from ...ir import substitute, without_return_type

    instead: dict[Var, Expr] = {}
    for p, axes in picked.items():
        t = p.checked_type
        assert isinstance(t, TensorType)
        instead[p] = Var(p.name, TensorType(tuple(1 if n in axes else d for n, d in enumerate(t.shape)), t.dtype))
    params = tuple(instead.get(p, p) for p in f.params)
    substituted = with_function(without_return_type(f), params=params, body=substitute(f.body, instead))  # type: ignore[arg-type]  # variables take the place of variables
    return with_parameters(substituted)
