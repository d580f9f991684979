"""Backends write what `texts.txt` says, for many small programs: a change of any line of code, nest or type rule is seen, and is
meant or not."""

from __future__ import annotations

import pytest

from tests.backends.texts import expected, line, programs

AGAIN = "python -m tests.backends.texts writes them anew"


@pytest.mark.parametrize("key", expected())
def test_texts_are_the_known_ones(key: str) -> None:
    assert line(key) == expected()[key], AGAIN


def test_no_program_is_left_over() -> None:
    assert list(expected()) == list(programs()), AGAIN
