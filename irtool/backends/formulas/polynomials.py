"""Polynomials as C text."""

from __future__ import annotations

from collections.abc import Sequence


def horner(x: str, coefficients: Sequence[float]) -> str:
    """The polynomial with these coefficients (of the constant first) at `x`."""
    text = f"{coefficients[-1]!r}f"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {x} + {c!r}f)"
    return text
