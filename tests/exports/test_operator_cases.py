"""The cases of every operator come through the exporters, apart from those that `operator_cases.txt` lists."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from tests.exports.operator_cases import LIST, failures, own_operators

LISTED = LIST.read_text(encoding="utf-8").splitlines()


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("name", own_operators())
def test_cases_come_through(name: str) -> None:
    assert list(failures(name)) == [line for line in LISTED if line.split()[1] == name]


def test_the_list_names_operators() -> None:
    assert {line.split()[1] for line in LISTED} <= set(own_operators())
