"""`irtool test -j`: the same as one after the other, in the same order, whatever becomes of the processes; and how much work it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command_line import irtool
from tests.work import steps

ROOT = Path(__file__).parents[2]


def write(folder: Path, count: int, line: str = "irtool opt -p FoldConstant --types=none %s") -> None:
    for n in range(count):
        (folder / f"t{n:03}.relay").write_text(f"// RUN: {line}\ndef @main() {{ add({n}f, 1f) }}\n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_order_is_that_of_the_files(folder: Path) -> None:
    write(folder, 7)
    assert irtool("test", "--update", "-j", "3")[1].splitlines()[0] == "updated ./t000.relay"
    for n in (2, 5):
        (folder / f"t{n:03}.relay.expected").write_text("other\n")
    (folder / "t004.relay").write_text("// RUN: irtool check --no-such %s\n")
    alone = irtool("test", "-v", "--junit", "alone.xml")
    assert irtool("test", "-v", "-j", "3", "--junit", "together.xml") == alone
    assert alone[0] == 1 and alone[1].endswith("4 passed, 3 failed\n")
    reports = [re.sub(r'time="[\d.]+"', "", (folder / f"{name}.xml").read_text()) for name in ("alone", "together")]
    assert reports[0] == reports[1]


def test_what_is_loaded_is_loaded_everywhere(folder: Path) -> None:
    code = "from irtool.passes import FunctionPass, register_pass\nfrom dataclasses import dataclass\n"
    code += '@register_pass("Idle")\n@dataclass(frozen=True)\nclass Idle(FunctionPass):\n    """Nothing."""\n'
    code += "    def transform(self, function, module, context):\n        return function\n"
    (folder / "idle.py").write_text(code)
    write(folder, 4, "irtool opt -p Idle %s")
    assert irtool("test", "--update", "-j", "2")[0] == 1
    assert irtool("test", "--update", "-j", "2", "--load", "idle.py")[0] == 0


def test_a_process_that_dies_fails_its_file_alone(folder: Path) -> None:
    write(folder, 6)
    assert irtool("test", "--update")[0] == 0
    (folder / "kill.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    (folder / "t002.relay").write_text("// RUN: irtool check --load kill.py %s\n1f\n")
    code, out, _ = irtool("test", "-j", "2")
    assert (code, out) == (1, "FAIL ./t002.relay\nthe process that ran it was ended by SIGKILL\n5 passed, 1 failed\n")


def test_output_of_programs_does_not_get_between(folder: Path) -> None:
    write(folder, 2)
    (folder / "loud.py").write_text("import os\nos.write(1, b'loud')\n")
    for n in range(2):
        (folder / f"t{n:03}.relay").write_text("// RUN: irtool check -h --load loud.py %s\n")
    assert irtool("test", "--update")[0] == 0
    assert irtool("test", "-j", "2") == (0, "2 passed, 0 failed\n", "")


@pytest.mark.robustness("faults")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_everything(jobs: int, folder: Path) -> None:
    (folder / "slow.py").write_text("import time, os\nopen(f'started.{os.getpid()}', 'w').close()\ntime.sleep(60)\n")
    write(folder, 4, "irtool check --load slow.py %s")
    command = [sys.executable, "-m", "irtool", "test", "-j", str(jobs)]
    (folder / "tmp").mkdir()
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while len(list(folder.glob("started.*"))) < jobs and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=50)
    assert (process.returncode, err) == (130, "interrupted\n")
    for started in folder.glob("started.*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(started.suffix[1:]), 0)
    assert not list((folder / "tmp").iterdir())


@pytest.mark.robustness("mistakes")
@pytest.mark.parametrize("words", [("-j", "0"), ("-j", "x"), ("--features", "--junit", "x"), ("--list", "--features")])
def test_wrong_usage(words: tuple[str, ...], folder: Path) -> None:
    write(folder, 1)
    code, _, err = irtool("test", *words)
    assert code == 2 and err.startswith("error[E001")


@pytest.mark.promise("goldens")
def test_work_grows_with_the_cases_and_no_process_is_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred cases are in this process what one is, five hundred times: no imports, no processes for each."""
    write(folder, 60)
    assert irtool("test", "--update")[0] == 0

    def refuse(*words: object, **rest: object) -> None:
        raise AssertionError("a process is started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    few = steps(lambda: irtool("test", *(f"t{n:03}.relay" for n in range(10))))
    many = steps(lambda: irtool("test"))
    assert many < 6.5 * few
    together = folder / "together.relay"
    cases = "// -----\n".join(f"def @main() {{ add({n}f, 1f) }}\n" for n in range(60))
    together.write_text(f"// RUN: irtool opt -p FoldConstant --types=none %s\n// -----\n{cases}")
    assert irtool("test", "--update", together)[0] == 0
    assert steps(lambda: irtool("test", together)) < 1.5 * many
