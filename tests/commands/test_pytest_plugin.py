"""The plug-in of pytest: it collects golden files where it is asked to, says what irtool says, and costs nothing elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = "// RUN: irtool opt -p FoldConstant --types=none %s\n"
NET = "def @main() { add(1f, 1f) }\n"
PRINTED = '#[version = "0.0.5"]\ndef @main() -> float32 {\n  2f\n}\n'
INI = "[pytest]\ntestpaths = tests\nirtool_goldens = goldens\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a test, golden files, and a golden file of somebody else."""
    for folder in ("tests", "goldens/sub", "others"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests/test_one.py").write_text("def test_one():\n    pass\n")
    (tmp_path / "goldens/a.relay").write_text(RUN + NET)
    (tmp_path / "goldens/a.relay.expected").write_text(PRINTED)
    case = "// -----\n"
    cases = RUN + case + NET + case + "// XFAIL: later\n" + NET + case + "// REQUIRES: SVE, NEON, AVX\n" + NET
    (tmp_path / "goldens/sub/b.relay").write_text(cases)
    (tmp_path / "goldens/sub/b.relay.expected").write_text(PRINTED + case + "3f\n" + case)
    (tmp_path / "others/c.relay").write_text(RUN + NET)
    (tmp_path / "pytest.ini").write_text(INI)
    return tmp_path


def run(folder: Path, *words: str) -> tuple[int, list[str], str]:
    """Exit code, output and messages of pytest in that folder."""
    command = [sys.executable, "-m", "pytest", "-p", "irtool.pytest_plugin", "-p", "no:cacheprovider", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.promise("goldens")
def test_each_case_is_a_test(project: Path) -> None:
    code, out, _ = run(project, "-v")
    results = dict(line.split(" ", 1) for line in out if line.startswith(("tests/", "goldens/")))
    outcomes = {name: text.split()[0] for name, text in results.items()}
    assert code == 0, out
    assert outcomes == {
        "tests/test_one.py::test_one": "PASSED",
        "goldens/a.relay::golden": "PASSED",
        "goldens/sub/b.relay::1": "PASSED",
        "goldens/sub/b.relay::2": "XFAIL",
        "goldens/sub/b.relay::3": "SKIPPED",
    }


def test_failures_are_shown_as_diffs_and_mended_by_an_update(project: Path) -> None:
    (project / "goldens/a.relay.expected").write_text("other\n")
    (project / "goldens/old.relay.expected").write_text("other\n")
    code, out, _ = run(project, "goldens")
    assert code == 1 and "-other" in out and "+def @main() -> float32 {" in out
    assert any("nothing prints this" in line for line in out) and not any("Traceback" in line for line in out)
    code, out, _ = run(project, "--irtool-update", "-q", "--deselect", "goldens/old.relay.expected")
    assert code == 0 and "irtool: updated goldens/a.relay" in out
    assert (project / "goldens/a.relay.expected").read_text() == PRINTED
    assert (project / "goldens/sub/b.relay.expected").read_text().count("3f") == 1


def test_only_what_is_asked_for_is_collected(project: Path) -> None:
    assert "1 passed" in run(project, "tests")[1][-1]
    assert "no tests ran" in run(project, "others")[1][-1]
    assert "1 failed" in run(project, "--irtool-goldens", "others", "others")[1][-1]
    assert "1 failed, 1 passed" in run(project, "--irtool-goldens", "others", "tests")[1][-1]
    (project / "pytest.ini").write_text("[pytest]\n")
    assert "1 passed" in run(project)[1][-1]


def test_processes_side_by_side(project: Path) -> None:
    pytest.importorskip("xdist")
    code, out, _ = run(project, "-n", "2")
    assert code == 0 and "3 passed, 1 skipped, 1 xfailed" in out[-1]
    code, _, err = run(project, "-n", "2", "--irtool-update")
    assert code == 4 and "for which one process is enough" in err


@pytest.mark.robustness("mistakes")
def test_a_folder_that_is_not_there(project: Path) -> None:
    code, _, err = run(project, "--irtool-goldens", "nowhere")
    assert code == 4 and f"there is no {project / 'nowhere'}" in err


@pytest.mark.promise("start")
def test_nothing_is_imported_where_nothing_is_asked(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure():\n    print(*sorted(m for m in sys.modules if m.startswith('irtool')))\n"
    )
    assert run(project, "-q")[1][-1].split() == ["irtool", "irtool.pytest_plugin"]


def test_pytest_finds_it() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert points == {"irtool.pytest_plugin": "irtool.pytest_plugin"}
