"""Large calls of every operator, forward and as gradients make them, are computed in vectors, except for those that a list names.

`no_cliff.txt` has a row for each operator with exceptions, `operator kind, kind: reason`. Rows go as schedules are added; none is added without one that goes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import irtool
from irtool.ops import operators
from irtool.ops.base import Operator
from irtool.ops.cases import cases_of
from tests.schedule.enlarged import enlarged_calls, is_cliff

LIST = Path(__file__).parent / "no_cliff.txt"
MOST_ROWS = 53
"""The rows that the list has; lower it with every row that goes. Eleven came with gradients of operators that had none."""


def exceptions() -> dict[str, tuple[set[str], str]]:
    """Kinds of calls and the reason, by operator."""
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    rows = [line.partition(": ") for line in lines]
    names = [(head.partition(" "), reason) for head, _, reason in rows]
    return {name: (set(kinds.split(", ")), reason) for (name, _, kinds), reason in names}


@pytest.mark.parametrize("cls", list(operators), ids=lambda c: c.name)
def test_large_calls_have_vectors(cls: type[Operator]) -> None:
    scalar: set[str] = set()
    for call in enlarged_calls(cls.name):
        try:
            scalar |= {call.kind} if is_cliff(call.module) else set()
        except irtool.IrError:
            continue  # it needs what only another case says, or is not for this backend
    listed, _ = exceptions().get(cls.name, (set(), ""))
    assert scalar - listed == set(), "computed element by element: give it a schedule"
    assert listed - scalar == set(), "has vectors now: remove it from its row"


def test_most_operators_have_large_calls() -> None:
    """Extents that only a run knows (of the operators of `dyn`) are not enlarged; `arange` and a few others have none in their cases."""
    without = {c.name for c in operators if cases_of(c) and not any(True for _ in enlarged_calls(c.name))}
    fixed = {name for name in without if not name.startswith("dyn.")}
    assert fixed == {"arange", "argwhere", "auto_scheduler_layout_transform", "sparse_fill_empty_rows"}


def test_the_list_only_shrinks() -> None:
    assert len(exceptions()) == MOST_ROWS
    assert all(reason for _, reason in exceptions().values())
