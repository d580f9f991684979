"""Estimates for reductions over windows without register tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...tir.vector_target import VectorTarget
from ..core.forms import Loop
from .machine import SHUFFLED_READ


def one_step_cycles(target: VectorTarget) -> float:
    """Cycles per update and vector of windows whose elements are not contiguous along the vectors."""
    return SHUFFLED_READ / target.loads


def two_step_cycles(
    rows: Sequence[Loop], columns: Sequence[Loop], width: float, is_apart: bool, target: VectorTarget
) -> float:
    """Cycles per update and vector of windows whose rows are combined before their columns.

    `width`: columns of a row for each result; `is_apart`: true if neighbouring results do not have neighbouring columns. A vector
    is stored in each step while others are loaded.
    """
    high, wide = (math.prod(n for _, n in loops) for loops in (rows, columns))
    read = SHUFFLED_READ if is_apart else 1
    return (width * max(1, high / target.loads) + max(1, wide * read / target.loads)) / (high * wide)
