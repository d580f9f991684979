"""Fixtures of all tests, and the page that is made of their results."""

from __future__ import annotations

import pytest

from tests.conformance import Conformance


@pytest.fixture
def quick_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """C is compiled without the optimizations that take long; for tests of what programs compute, not how fast."""
    monkeypatch.setenv("CFLAGS", "-O1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--conformance", action="store_true", help="write docs/conformance.md from the results of all tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Conformance(config), "conformance")
