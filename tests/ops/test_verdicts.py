"""Type rules accept and refuse what `verdicts.txt` says: a limit that moves by one is seen, and is meant or not."""

from __future__ import annotations

import pytest

from tests.ops.verdicts import bases, expected, line

AGAIN = "python -m tests.ops.verdicts writes them anew"


@pytest.mark.parametrize("key", expected())
def test_limits_of_type_rules_are_the_known_ones(key: str) -> None:
    assert line(key) == expected()[key], AGAIN


def test_no_call_is_left_over() -> None:
    assert list(expected()) == list(bases()), AGAIN
