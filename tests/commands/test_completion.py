"""Completion: what shells are told, for each kind of argument, and by bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from irtool.commands.completing import SHELLS, complete
from irtool.commands.shell import group
from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool

pytestmark = pytest.mark.promise("completion")

NET = "def @main(%x: int32) { @twice(%x) }\n\ndef @twice(%x: int32) { add(%x, %x) }\n"
SWISH = """from __future__ import annotations
from dataclasses import dataclass
from irtool.passes import FunctionPass, register_pass

@register_pass("MyOwnPass")
@dataclass(frozen=True)
class Own(FunctionPass):
    \"\"\"Does nothing.\"\"\"

    def transform(self, function, module, context):
        return function
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "own.py").write_text(SWISH)
    with plugins_kept():
        yield tmp_path


def ask(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shell: str = "bash",
    behind: tuple[str, ...] = (),
) -> list[str]:
    """What the shell is told about the last of the words, type and value. bash cuts words at `=`."""
    monkeypatch.setenv("COMP_WORDS", "\n".join(["irtool", *words, *behind]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)) if shell != "fish" else words[-1])
    assert complete(group, f"{shell}_complete") == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        (["op"], ["plain,ops", "plain,opt"]),
        (["opt", "--pass"], ["plain,--passes", "plain,--pass-config"]),
        (["opt", "--passes", "=", "Fus"], ["plain,FuseOps"]),
        (["opt", "--passes=Fus"], ["plain,FuseOps"]),
        (["opt", "-p", "InferType,fus"], ["plain,InferType,FuseOps"]),
        (["opt", "-p", "InferType,default"], ["plain,InferType,default<O3>"]),
        (["opt", "--disable-pass", "FoldC"], ["plain,FoldConstant"]),
        (["opt", "--instrument", "Tim"], ["plain,Timing"]),
        (["opt", "--pass-config", "relay.FuseOps.max"], ["plain,relay.FuseOps.max_depth="]),
        (["opt", "--print-after", "FuseO"], ["plain,FuseOps"]),
        (["opt", "--target", "llv"], ["plain,llvm"]),
        (["opt", "net.relay", "--func", ""], ["plain,main", "plain,twice"]),
        (["run", "net.relay", "--entry", "=", "tw"], ["plain,twice"]),
        (["build", "net.relay", "--emit", "=", "s"], ["plain,so"]),
        (["build", "net.relay", "--target", "ll"], ["plain,llvm"]),
        (["run", "net.relay", "--via", "in"], ["plain,interp"]),
        (["run", "--compare", "interp,ll"], ["plain,interp,llvm"]),
        (["backends", "ll"], ["plain,llvm"]),
        (["ops", "nn.dens"], ["plain,nn.dense"]),
        (["passes", "Timin"], ["plain,Timing"]),
        (["opt", "ne"], ["file,ne"]),
        (["build", "-o", "ou"], ["dir,ou"]),
        (["run", "--input", "x", "=", "a"], ["file,a"]),
        (["completion", "z"], ["plain,zsh"]),
        (["opt", "--load", "own.py", "-p", "MyOw"], ["plain,MyOwnPass"]),
        (["nothing", "x"], []),
        (["opt", "--load", "nowhere.py", "-p", "FuseO"], ["plain,FuseOps"]),
    ],
)
def test_what_bash_is_told(
    words: list[str],
    candidates: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ask(words, monkeypatch, capsys)
    assert [line for line in candidates if line not in lines] == []
    assert len(lines) <= max(len(candidates), 4)


def test_functions_of_a_file_behind_the_cursor(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(["opt", "--func", "tw"], monkeypatch, capsys, behind=("net.relay",)) == ["plain,twice"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_that_replace_the_whole_word_get_it_whole(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "\n".join(ask(["opt", "--passes=FuseO"], monkeypatch, capsys, shell))
    assert "--passes=FuseOps" in lines and "Groups operators" in lines


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script(shell: str) -> None:
    code, out, err = irtool("completion", shell)
    assert (code, err) == (0, "")
    assert f"_IRTOOL_COMPLETE={shell}_complete" in out
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run([program, "-n"], input=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_shell_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "zsh_complete" in irtool("completion")[1]
    monkeypatch.setenv("SHELL", "/bin/dash")
    code, _, err = irtool("completion")
    assert code == 2 and "name a shell: bash, zsh, fish" in err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself(folder: Path) -> None:
    program = folder / "bin" / "irtool"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m irtool "$@"\n')
    program.chmod(0o755)
    root = Path(__file__).parent.parent.parent
    script = """eval "$(irtool completion bash)"
COMP_WORDS=(irtool opt --passes = Fuse); COMP_CWORD=4; _irtool_completion irtool; echo "${COMPREPLY[*]}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("FuseOps\n", "")


def test_what_is_asked_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    assert complete(group, "tcsh_source") == 2
    assert "bash, zsh, fish" in capsys.readouterr().err
