"""Networks get the strategies and estimates of `choices.txt`: a change of any choice is seen, and is meant or not."""

from __future__ import annotations

import functools

import pytest

from irtool.plugin.origin import is_outside
from irtool.schedule.strategies.base import Strategy, strategies
from tests.schedule.choices import FILE, MACHINES, in_short, kernel_rows
from tests.schedule.larger_networks import networks

AGAIN = "python -m tests.schedule.choices writes it anew"


@functools.cache
def recorded() -> dict[str, list[str]]:
    """The cells of each row by its first one."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    rows = ([cell.strip() for cell in line.split(" | ")] for line in lines)
    return {row[0]: row + [""] * (1 + len(MACHINES) - len(row)) for row in rows}


@pytest.mark.parametrize("key", networks())
def test_choices_are_those_of_the_table(key: str) -> None:
    for row in kernel_rows(key):
        assert row == recorded()[row[0]], AGAIN


def test_the_table_has_the_rows_of_all_networks() -> None:
    first, *rows = recorded()
    assert first == "network"
    names = [row.partition(" (")[0] for row in rows]
    assert list(dict.fromkeys(names)) == list(networks()), AGAIN


def test_numbers_in_short() -> None:
    numbers = (0.4, 7, 99.6, 340, 996, 1234, 9960, 54_321_000, 2e12)
    assert [in_short(n) for n in numbers] == ["0", "7", "100", "340", "1.0k", "1.2k", "10k", "54M", "2000G"]


def test_only_choices_from_outside_come_before_all_others() -> None:
    strategies.load()
    first = {cls.name for cls in strategies if cls.plevel != Strategy.plevel and not is_outside(cls)}
    assert first == {"by_hand", "tuned"}
