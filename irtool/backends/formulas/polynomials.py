"""Polynomials as C text."""

from __future__ import annotations

from collections.abc import Sequence


def horner(x: str, coefficients: Sequence[float], suffix: str = "f") -> str:
    """The polynomial with these coefficients (the constant first) at `x`. `suffix`: that of numbers, `f` for single precision."""
    text = f"{coefficients[-1]!r}{suffix}"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {x} + {c!r}{suffix})"
    return text
