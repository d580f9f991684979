"""A sample of ONNX's own backend test suite; `make test-peers` runs all of it."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("onnx")

from tests.frontends.onnx.page import LACKING, PAGE, operators, read_lacking
from tests.frontends.onnx.suite import counted, run_cases

STEP, STEP_IN_C = 12, 240


@pytest.mark.promise("ONNX coverage")
def test_a_sample_passes_on_the_interpreter() -> None:
    listed = read_lacking()
    chosen, _ = counted()
    reasons = {f"{o.kind} {o.name}": o.interpreter for o in run_cases(chosen[::STEP], compiled=False)}
    broken = {n: reason for n, reason in reasons.items() if reason and not listed.get(n, (False, False))[0]}
    assert not broken
    mended = [n for n, reason in reasons.items() if not reason and listed.get(n, (False, False))[0]]
    assert not mended, f"take these out of {LACKING.name}"


@pytest.mark.promise("ONNX coverage")
def test_a_sample_passes_in_c() -> None:
    listed = read_lacking()
    chosen, _ = counted()
    reasons = {f"{o.kind} {o.name}": o.compiled for o in run_cases(chosen[3::STEP_IN_C])}
    assert not {n: reason for n, reason in reasons.items() if reason and not listed.get(n, (False, False))[1]}


@pytest.mark.promise("ONNX coverage")
def test_enough_passes_and_the_page_has_the_rest() -> None:
    """Of the models of single nodes at least 90 % pass; the page names every other one, and all operators."""
    listed, text = read_lacking(), PAGE.read_text()
    chosen, _ = counted()
    names = {f"{kind} {name}" for kind, name in chosen}
    assert set(listed) <= names, "lacking.txt has models that there are not"
    nodes = [n for n in names if n.startswith("node ")]
    assert len([n for n in nodes if n not in listed]) >= 0.9 * len(nodes)
    missing = [n for n in listed if f"`{n.partition(' ')[2]}`" not in text]
    assert not missing
    assert "\n".join(operators()) in text, "python -m tests.frontends.onnx.suite --page"
    assert re.search(r"\| node \| \d+ \|", text)
