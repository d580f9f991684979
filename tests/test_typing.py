"""Types: what users write against irtool passes the strictest checks, and errors that are ignored are accounted for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = sorted((ROOT / "tests" / "typed").glob("*.py"))
_IGNORED = re.compile(r"#\s*type:\s*ignore(?P<codes>\[[\w, -]+\])?(?P<reason>\s+#\s*\S.*)?")
_WITHOUT_REASON = 167
"""Places that ignore a type error without a word on why. This number may only shrink."""

pytestmark = pytest.mark.promise("typed")


def test_a_plugin_and_a_program_are_clean_under_mypy_strict() -> None:
    pytest.importorskip("mypy")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file=",
        *map(str, SAMPLES),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_plugin_works(tmp_path: Path) -> None:
    (tmp_path / "in.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  sigmoid(%x)\n}\n'
    )
    plugin = ROOT / "tests" / "typed" / "board.py"
    command = [sys.executable, "-m", "irtool", "opt", "--load", str(plugin), "--passes=UseSwish{beta=2}", "in.relay"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert "board.swish(%x, beta=2f)" in done.stdout, done.stderr


def test_ignored_type_errors_are_named_and_explained() -> None:
    unexplained = []
    for path in sorted((ROOT / "irtool").rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = _IGNORED.search(line)
            if found is not None:
                where = f"{path.relative_to(ROOT)}:{number}"
                assert found["codes"], f"{where}: say which error is ignored: type: ignore[code]"
                unexplained += [where] if not found["reason"] else []
    assert len(unexplained) <= _WITHOUT_REASON, f"say why, behind the comment: {unexplained[-5:]}"
