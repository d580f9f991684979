"""Standard streams that are closed, full, or without a reader, at every command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from irtool.commands.shell import group
from tests.faults.processes import MLP, ROOT, environment, irtool

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

COMMANDS: dict[str, list[object]] = {
    **{name: [name, "--help"] for name in group.list_commands(click.Context(group))},
    "opt": ["opt", "-p", "FoldConstant", MLP],
    "build": ["build", "--emit=c", MLP, "-o", "out"],
    "run": ["run", MLP],
    "check": ["check", MLP],
    "diff": ["diff", MLP, MLP],
    "info": ["info", MLP],
    "viz": ["viz", MLP, "--format=svg"],
    "passes": ["passes"],
    "ops": ["ops", "nn.dense"],
    "test": ["test", ROOT / "tests" / "golden" / "passes" / "FoldConstant"],
    "--version": ["--version"],
    "--help": ["--help"],
}
LOST = {">&-": "it is closed", "> /dev/full": "No space left on device"}


@pytest.mark.parametrize(
    ("command", "redirect"), [(c, r) for c in COMMANDS for r in LOST if r == ">&-" or c in ("opt", "ops", "--version")]
)
def test_output_that_is_lost_is_an_error(command: str, redirect: str, tmp_path: Path) -> None:
    done = irtool(*COMMANDS[command], cwd=tmp_path, redirect=redirect)
    assert done.code == 1
    assert done.err.endswith(f"error[E0002]: cannot write to standard output: {LOST[redirect]}\n")
    assert done.err.count("error[") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_messages_that_nobody_can_read_change_nothing(command: str, tmp_path: Path) -> None:
    """Closed standard error; closed standard input, which these commands do not read, beside it."""
    done = irtool(*COMMANDS[command], cwd=tmp_path, redirect="2>&- <&-")
    assert done.code == 0 and done.out


@pytest.mark.parametrize("redirect", ["2>&-", "2> /dev/full", ">&- 2>&- <&-"])
@pytest.mark.parametrize(
    ("arguments", "code"), [(["opt", "none.relay"], 1), (["opt", "-p", "NoSuchPass", MLP], 2), (["nothing"], 2)]
)
def test_errors_that_nobody_can_read_have_their_exit_code(
    arguments: list[object], code: int, redirect: str, tmp_path: Path
) -> None:
    done = irtool(*arguments, cwd=tmp_path, redirect=redirect)
    assert (done.code, done.out, done.err) == (code, "", "")


@pytest.mark.parametrize("command", ["opt", "check", "run", "info", "build"])
def test_closed_standard_input_cannot_be_read(command: str, tmp_path: Path) -> None:
    done = irtool(command, "-", cwd=tmp_path, redirect="<&-")
    assert done.code == 1 and "cannot read standard input: it is closed" in done.err
    assert not (tmp_path / "module.out").exists()


def test_a_reader_of_messages_that_goes_away(tmp_path: Path) -> None:
    (tmp_path / "bad.relay").write_text("def @main( {" + "%x; " * 5000)
    process = subprocess.Popen(
        [sys.executable, "-m", "irtool", "check", "bad.relay"],
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(60) == 1


def test_what_is_written_to_a_file_needs_no_streams(tmp_path: Path) -> None:
    want = irtool("opt", MLP, cwd=tmp_path).out
    assert irtool("opt", MLP, "-o", "out.relay", cwd=tmp_path, redirect=">&- 2>&- <&-").code == 0
    assert (tmp_path / "out.relay").read_text() == want
