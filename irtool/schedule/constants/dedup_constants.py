"""Deduplication of constants with equal content.

Lowering gives equal constants of one shape one slot. Constants that are equal only in another shape, or became equal when their
layouts were chosen, are merged here.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ...tir.equal_data import EqualData, beginning
from ...tir.program import Program, Slot


def dedup_constants(program: Program) -> None:
    """Replaces constants of the same dtype and the same bytes by the first of them. Derived constants are equal if their sources
    and their derivations are."""
    contents: EqualData[Slot] = EqualData()
    derived: dict[Hashable, Slot] = {}
    for c in program.constants:
        if c.forward is not None or (c.derivation is None and c.data is None):
            continue
        first = derived.setdefault((*_ways(c), c.origin), c)
        d = c.derivation
        if first is c and (d is None or d.begin is not None):
            begin = beginning(c.data) if d is None or d.begin is None else d.begin(d.source.data)
            first = contents.first((c.dtype, c.nbytes), begin, c.read, c)
        if first is not c:
            c.forward = first


def _ways(c: Slot) -> list[Any]:
    """The derivation of a constant, step by step."""
    derivations: list[Any] = []
    while c.derivation is not None:
        derivations.append((c.shape, c.dtype, c.derivation.how))
        c = c.derivation.source
    return derivations
