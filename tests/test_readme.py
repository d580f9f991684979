"""The README: every command and every program in it runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


LINES = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("irtool ")]
pytestmark = pytest.mark.promise("mistakes of newcomers")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the README's reader is in, which may be written to, with `irtool` on its PATH."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    program = tmp_path / "bin" / "irtool"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m irtool "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    env |= {"XDG_CACHE_HOME": str(folder / "cache"), "CFLAGS": "-O1"}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition(" #")[0].strip())
def test_a_command(line: str, folder: Path) -> None:
    done = run(["sh", "-ec", line], folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", blocks("python"))
def test_a_program(program: str, folder: Path) -> None:
    done = run([sys.executable, "-c", program], folder)
    assert done.returncode == 0 and "def @main" in done.stdout, done.stderr


def test_there_is_something_to_run() -> None:
    assert len(LINES) >= 8 and blocks("python")


def test_the_first_screen_has_a_command_for_each_reader() -> None:
    """A model, Relay text, passes: one command each, with its output; tests/test_sessions.py runs them."""
    screen = TEXT.splitlines()[:50]
    commands = [line.split()[2] for line in screen if line.startswith("$ ")]
    readers = [line.partition("**")[2].partition("**")[0] for line in screen if line.startswith("**You ")]
    assert commands == ["build", "run", "opt"] and blocks("console")
    assert readers == ["You have an ONNX or PyTorch model", "You have Relay text", "You write passes"]
