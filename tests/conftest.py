"""Fixtures of all tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def quick_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """C is compiled without the optimizations that take long; for tests of what programs compute, not how fast."""
    monkeypatch.setenv("CFLAGS", "-O1")
