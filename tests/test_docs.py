"""The generated references are what the classes say today."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.references import references

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", ["errors.md", "ops.md", "passes.md"])
def test_reference_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == references()[name], "run python -m irtool.commands.references"
