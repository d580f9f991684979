"""Every golden file and sample through the same runner as `irtool test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.goldens import find_goldens, run_golden

HERE = Path(__file__).parent
FILES = sorted([*find_goldens(str(HERE / "golden")), *find_goldens(str(HERE.parent / "samples"))])


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(Path(p).relative_to(HERE.parent)))
def test_golden(path: str) -> None:
    outcome = run_golden(path)
    assert outcome.passed, outcome.message
