"""Attributes that count something, or have a number for each axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import IrError
from .mistakes import DamagedModel

MOST = (1 << 31) - 1
"""The largest number: of heads, of elements of a block, of padding. Relay has these as int32."""


def require_count(number: int, name: str, least: int = 1) -> int:
    """The number. Raises IrError, in which `name` has it, unless it can count something."""
    if not least <= number <= MOST:
        raise IrError(f"{name} is {number}: it is at least {least} and at most {MOST}", code=DamagedModel)
    return number


def require_counts(numbers: Sequence[int], count: int, name: str, least: int) -> None:
    """Raises IrError unless there are `count` numbers, and each can count something."""
    if len(numbers) != count or any(not least <= n <= MOST for n in numbers):
        raise IrError(
            f"{name} is {list(numbers)}: it has {count} numbers, none below {least} or above {MOST}", code=DamagedModel
        )
