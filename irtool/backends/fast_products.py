"""The flags that select convolutions and products with fewer multiplications, for backends with vectors."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import UsageError
from ..tir.vector_target import VectorTarget

WINOGRAD = "Winograd's algorithm for small windows: if faster, never, or in tiles of 2 x 2 or 4 x 4 results"
"""The meaning of the flag `winograd`."""

WINOGRAD_WAYS = ("auto", "off", "2", "4")
"""The values of the flag."""

STRASSEN = "Strassen's algorithm for products with constant weights: if faster, never, or for all that it supports"
"""The meaning of the flag `strassen`."""

STRASSEN_WAYS = ("auto", "off", "on")
"""The values of the flag."""


def check_products(winograd: str, strassen: str, math: str) -> None:
    """Raises UsageError for an algorithm that rounds differently from the formulas of `math=strict`."""
    for name, value, what in (("winograd", winograd, "convolutions"), ("strassen", strassen, "products")):
        if math == "strict" and value not in ("auto", "off"):
            raise UsageError(f"with math=strict, {what} are summed as they are written: {name}={value} has no meaning")


def with_products(machine: VectorTarget, winograd: str, strassen: str, math: str) -> VectorTarget:
    """The machine, with the algorithms for its convolutions and products."""
    off = math == "strict"
    return replace(machine, winograd="off" if off else winograd, strassen="off" if off else strassen)
