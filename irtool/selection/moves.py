"""Stores that copy an element unchanged."""

from __future__ import annotations

from collections.abc import Callable

from ..tir.expr import Load
from ..tir.stmt import Buffer, Store
from .vectors.types import HALVES


def moved_element(s: Store, is_variable: Callable[[Buffer], bool]) -> Load | None:
    """The 16-bit float that a store copies from memory to memory; None for other stores.

    A copy of the bits needs no conversion to the type of arithmetic and back, which would change nothing but the payload of NaN,
    and takes a hundred instructions on processors without instructions for it.
    """
    e = s.value
    if not isinstance(e, Load) or e.dtype != s.buffer.dtype or e.dtype not in HALVES:
        return None
    return None if is_variable(e.source) or is_variable(s.buffer) else e
