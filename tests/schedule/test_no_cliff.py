"""Large calls of every operator, forward and as gradients make them, are computed in vectors, except for those that a list names.

`no_cliff.txt` has a row for each exception, `operator kind: reason`. Rows go as schedules are added; none is added without one that goes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import irtool
from irtool.ops import operators
from irtool.ops.base import Operator
from tests.schedule.enlarged import enlarged_calls, is_cliff

LIST = Path(__file__).parent / "no_cliff.txt"
MOST_ROWS = 19
"""The rows that the list has; lower it with every row that goes."""


def exceptions() -> dict[str, str]:
    """Reasons by operator and kind."""
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {name: reason for name, _, reason in (line.partition(": ") for line in lines)}


@pytest.mark.parametrize("cls", list(operators), ids=lambda c: c.name)
def test_large_calls_have_vectors(cls: type[Operator]) -> None:
    scalar: set[str] = set()
    for call in enlarged_calls(cls.name):
        name = f"{call.operator} {call.kind}"
        try:
            scalar |= {name} if is_cliff(call.module) else set()
        except irtool.IrError:
            continue  # it needs what only another case says, or is not for this backend
    listed = {name for name in exceptions() if name.rpartition(" ")[0] == cls.name}
    assert scalar - listed == set(), "computed element by element: give it a schedule"
    assert listed - scalar == set(), "has vectors now: remove its row"


def test_the_list_only_shrinks() -> None:
    assert len(exceptions()) == MOST_ROWS
    assert all(exceptions().values())
