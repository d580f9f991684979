"""Stores that move an element and compute nothing."""

from __future__ import annotations

from collections.abc import Callable

from ..tir.expr import Load
from ..tir.stmt import Buffer, Store
from .vectors.types import HALVES


def moved_element(s: Store, is_variable: Callable[[Buffer], bool]) -> Load | None:
    """The 16-bit float that a store takes from memory to memory; None for another store.

    As it is in memory it needs no conversion to the type that is computed in and back, which would change nothing but the payload
    of NaN, and takes a hundred instructions where the processor has none for it.
    """
    e = s.value
    if not isinstance(e, Load) or e.dtype != s.buffer.dtype or e.dtype not in HALVES:
        return None
    return None if is_variable(e.source) or is_variable(s.buffer) else e
