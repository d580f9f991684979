"""The flag that says which convolutions are transformed, for backends that have vectors."""

from __future__ import annotations

from dataclasses import replace

from ..diagnostics import UsageError
from ..tir.vector_target import VectorTarget

WINOGRAD = "Winograd's algorithm for 3 x 3 convolutions: where faster, nowhere, or in tiles of 2 x 2 or 4 x 4 results"
"""What the flag means."""

WAYS = ("auto", "off", "2", "4")
"""The values of the flag."""


def check_convolutions(winograd: str, math: str) -> None:
    """Raises UsageError for an algorithm that rounds otherwise than the formulas that `math=strict` asks for."""
    if math == "strict" and winograd not in ("auto", "off"):
        raise UsageError(
            f"with math=strict, convolutions are summed as they are written: winograd={winograd} has no meaning"
        )


def with_convolutions(machine: VectorTarget, winograd: str, math: str) -> VectorTarget:
    """The machine, with the convolutions that are transformed on it."""
    return replace(machine, winograd="off" if math == "strict" else winograd)
