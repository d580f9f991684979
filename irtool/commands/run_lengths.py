"""Lengths that a run decides: those of given arrays, and those to time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..symbolic_int import Symbol

if TYPE_CHECKING:
    from ..ir import Function


def known_lengths(function: Function, arrays: Mapping[str, Any]) -> dict[Symbol, int]:
    """The lengths that arrays of parameters have; the greatest ones, or usual ones without bounds, where no array says them."""
    from ..infer.lengths import lengths_of_arrays, symbols_of_params

    values = lengths_of_arrays({p: arrays[p.name] for p in function.params if p.name in arrays})
    return {s: values.get(s, s.typical) for s in symbols_of_params(function)}


def timed_lengths(symbols: Sequence[Symbol]) -> list[dict[Symbol, int]]:
    """Lengths to time: the least, a quarter, a half, and the greatest of each."""
    if not symbols:
        return []
    steps = (0, 1, 2, 4)
    rows = [{s: s.part(n, 4) for s in symbols} for n in steps]
    return [row for n, row in enumerate(rows) if row not in rows[:n]]
