"""Types: what users write against irtool passes the strictest checks, and errors that are ignored are accounted for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = sorted((ROOT / "tests" / "typed").glob("*.py"))
_IGNORED = re.compile(r"#\s*type:\s*ignore(?P<codes>\[[\w, -]+\])?(?P<reason>\s+#\s*\S.*)?")

pytestmark = pytest.mark.promise("typed")


def test_plugins_and_a_program_are_clean_under_mypy_strict() -> None:
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


def test_plugins_of_every_kind_are_among_them() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SAMPLES)
    for decorator in ("operator", "register_pass", "strategy", "backend", "code"):
        assert f"\n@{decorator}(" in text
    assert "(PassInstrument)" in text


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


def test_the_program_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tests" / "typed" / "program.py")]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 0


def test_the_strategy_and_the_backend_work(tmp_path: Path) -> None:
    (tmp_path / "in.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 16), float32]) {\n  sum(%x, axis=[1])\n}\n'
    )
    loaded = [f"--load={ROOT / 'tests' / 'typed' / name}" for name in ("unrolled.py", "outline.py")]
    command = [
        sys.executable,
        "-m",
        "irtool",
        "build",
        *loaded,
        "--target=typed_outline{sizes=true}",
        "-o",
        "out",
        "in.relay",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "(16 bytes): typed_unrolled_sum" in next((tmp_path / "out").glob("*.md")).read_text()


def test_ignored_type_errors_are_named_and_explained() -> None:
    unexplained = []
    for path in sorted((ROOT / "irtool").rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = _IGNORED.search(line)
            if match is not None:
                where = f"{path.relative_to(ROOT)}:{number}"
                assert match["codes"], f"{where}: say which error is ignored: type: ignore[code]"
                unexplained += [where] if not match["reason"] else []
    assert not unexplained, f"say why, behind the comment: type: ignore[code]  # why: {unexplained[:5]}"
