"""Exporters write what `texts.txt` says, for the cases of every operator: a change of any form is seen, and is meant or not."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from tests.exports.texts import cases, expected, line

AGAIN = "python -m tests.exports.texts writes them anew"


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("key", expected())
def test_texts_are_the_known_ones(key: str) -> None:
    assert line(key) == expected()[key], AGAIN


def test_no_case_is_left_over() -> None:
    assert list(expected()) == list(cases()), AGAIN
