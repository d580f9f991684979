"""All of ONNX's own backend test suite, on the interpreter and through C (`make test-peers`)."""

from __future__ import annotations

import os

import pytest

from tests.frontends.onnx.page import lacking, read_lacking
from tests.frontends.onnx.suite import counted, run_cases


@pytest.mark.promise("ONNX coverage")
def test_what_passes_and_what_is_listed(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    chosen, _ = counted()
    outcomes = list(run_cases(chosen, jobs=os.cpu_count() or 1))
    failing = {line.partition(": ")[0] for line in lacking(outcomes).splitlines()}
    assert failing == set(read_lacking()), "python -m tests.frontends.onnx.suite --page"
