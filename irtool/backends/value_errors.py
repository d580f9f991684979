"""The error of a run in which a value decides an extent outside of its bounds."""

from __future__ import annotations

from ..diagnostics import ToolError


class ValueOutOfBounds(ToolError):
    """A value that decides an extent is outside of its bounds.

    Attributes:
        number: that of the extent among those that values decide, if the program leaves notes of them (`tir.value_notes`).
        value: the extent that it would have had.
    """

    def __init__(self, message: str, number: int, value: int) -> None:
        super().__init__(message)
        self.number = number
        self.value = value
