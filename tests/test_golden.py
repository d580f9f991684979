"""Every golden file and sample through the same runner as `irtool test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.goldens.finding import find_goldens
from irtool.commands.goldens.golden import run_golden

HERE = Path(__file__).parent
FILES = sorted([*find_goldens(str(HERE / "golden")), *find_goldens(str(HERE.parent / "samples"))])


@pytest.mark.every_tier
@pytest.mark.parametrize("path", FILES, ids=lambda p: str(Path(p).relative_to(HERE.parent)))
def test_golden(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CC", "CFLAGS"):  # they stand at the head of C
        monkeypatch.delenv(name, raising=False)
    for outcome in run_golden(path)[0]:
        assert outcome.passed, f"{outcome.name}\n{outcome.message}"


@pytest.mark.promise("goldens")
@pytest.mark.parametrize("room", ["parse", "print", "infer", "lower", "schedule", "c", "errors", "cli"])
def test_each_level_has_goldens_that_are_short_enough_to_read(room: str) -> None:
    files = list(find_goldens(str(HERE / "golden" / room)))
    assert len(files) >= 6
    for path in files:
        assert len(Path(f"{path}.expected").read_text().splitlines()) <= 200, (
            path
        )  # 80 lines of C switch denormal numbers off
