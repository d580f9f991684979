"""`irtool run --runner`: a program, for another processor too, is run by a command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command_line import irtool

ROOT = Path(__file__).parent.parent.parent
MLP = ROOT / "samples" / "mlp.relay"
AARCH64 = "qemu-aarch64 -L /usr/aarch64-linux-gnu"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_runner_gets_the_program_and_its_files(tmp_path: Path) -> None:
    runner = tmp_path / "run me"
    runner.write_text('#!/bin/sh\necho "$1" "$#" >> words\nshift\nexec "$@"\n')
    runner.chmod(0o755)
    want = irtool("run", MLP)[1]
    code, out, err = irtool("run", MLP, "--via=c", "--runner", f"'{runner}' first")
    assert code == 0, err
    assert [w[:7] for w in out.split()] == [w[:7] for w in want.split()]
    assert Path("words").read_text() == "first 10\n"  # the program, seven inputs, one output


@pytest.mark.skipif(
    not (shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc")), reason="needs qemu and a cross gcc"
)
@pytest.mark.parametrize("mcpu", [(), ("--mcpu=cortex-a72",)])
def test_another_processor(mcpu: tuple[str, ...]) -> None:
    words = ("run", MLP, "--compare=interp,c", "-q", "--cc=aarch64-linux-gnu-gcc", *mcpu)
    code, out, err = irtool(*words, "--runner", AARCH64)
    assert code == 0 and out.startswith("interp and c agree"), err
    code, _, err = irtool(*words)
    assert code == 4 and "`irtool run --runner COMMAND` runs a program in an emulator" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--runner=false"], 2, "--runner is for compiled C"),
        (["--cc=gcc", "--runner=false"], 2, "--cc and --runner are for compiled C"),
        (["--via=c", "--runner='"], 2, "no command: no closing quotation"),
        (["--via=c", "--runner=no-such-runner"], 4, "no-such-runner could not be run: No such file"),
        (["--via=c", "--runner=false"], 4, "the compiled program ended with code 1 under false"),
        (["--via=c", "--runner=true"], 4, "the compiled program wrote no output under true"),
    ],
)
def test_runners_that_fail(words: list[str], code: int, message: str) -> None:
    got, out, err = irtool("run", MLP, *words)
    assert (got, out) == (code, "") and message in err, err


@pytest.mark.parametrize("command", ["bench", "tune"])
def test_commands_that_measure_read_it_alike(command: str) -> None:
    code, _, err = irtool(command, MLP, "-o" if command == "tune" else "--json", "x.json", "--runner", "'")
    assert code == 2 and "no command: no closing quotation" in err
