"""Programs of TVM's tutorials run with a few lines changed."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise("Python API")

PROGRAMS = sorted(p for p in (Path(__file__).parent / "tutorials").glob("*.py") if p.stem != "__init__")


def test_there_are_ten_programs() -> None:
    assert len(PROGRAMS) >= 10


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_runs_with_at_most_three_lines_changed(path) -> None:
    assert path.read_text().count("# TVM: ") <= 3
    runpy.run_path(str(path), run_name="tutorial")
