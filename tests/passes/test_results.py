"""Passes make of programs what `results.txt` says: a change of any rule is seen, and is meant or not."""

from __future__ import annotations

import pytest

from tests.passes.results import every_pipeline, expected, line

AGAIN = "python -m tests.passes.results writes them anew"
KNOWN = expected()


@pytest.mark.parametrize("pipeline", KNOWN)
def test_results_are_the_known_ones(pipeline: str) -> None:
    known = KNOWN[pipeline]
    assert [line(pipeline, name) for name, _ in known] == [text for _, text in known], AGAIN


def test_no_pass_is_left_over() -> None:
    assert list(KNOWN) == every_pipeline(), AGAIN
