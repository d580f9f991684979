"""Networks get the schedules of `plans.txt`: a change of any choice is seen, and is meant or not."""

from __future__ import annotations

import functools

import pytest

from tests.schedule.plans import FILE, networks, plans


@functools.cache
def expected() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        found.setdefault(line.split(" | ")[0], []).append(line)
    return found


@pytest.mark.parametrize("key", networks())
def test_schedules_are_the_known_ones(key: str) -> None:
    assert plans(key) == expected()[key], "python -m tests.schedule.plans writes them anew"


def test_no_network_is_left_over() -> None:
    assert list(expected()) == list(networks())
