"""Progress of a build on a terminal: stages, kernels, compilations; nothing elsewhere."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

from irtool.cli import run
from irtool.commands import progress
from irtool.commands.streams import Messages, Output
from irtool.plugin.loading import plugins_kept
from irtool.steps import counted, heard_by, say_step
from tests.command_line import irtool

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  nn.softmax(sum(%0, axis=[1], keepdims=True))
}
"""


class Terminal(io.StringIO):
    """A standard error that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_compiles: None) -> Terminal:
    (tmp_path / "net.relay").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def shown(terminal: Terminal, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it drew, without escapes."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(terminal), plugins_kept():
        code = run(list(words))
    return code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_stages_and_kernels_of_a_build(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[str, int, int]] = []
    step = progress._Bar.step

    def spied(self: progress._Bar, what: str, done: int, total: int) -> None:
        events.append((what, done, total))
        step(self, what, done, total)

    monkeypatch.setattr(progress._Bar, "step", spied)
    code, drawn = shown(terminal, "build", "net.relay", "-o", "o", "--no-cache")
    assert code == 0, drawn
    kinds = [what for what, _, _ in events]
    for kind in ("pass: FuseOps", "stage: ScheduleKernels", "kernels", "sources of kernels"):
        assert kind in kinds, kinds
    assert all(0 <= done <= total for _, done, total in events)
    assert re.search(r"(pass: \w+|stage: \w+|kernels|reading) .*\d s", drawn), drawn


@pytest.mark.parametrize("more", [["-q"], ["--print-after=FuseOps"]], ids=" ".join)
def test_none_where_it_is_quiet_or_prints_by_itself(more: list[str], terminal: Terminal) -> None:
    code, drawn = shown(terminal, "build", "net.relay", "-o", "o", "--no-cache", *more)
    assert code == 0 and "stage: " not in drawn and "reading" not in drawn


def test_none_where_there_is_no_terminal(terminal: Terminal) -> None:
    code, out, err = irtool("build", "net.relay", "-o", "o", "--no-cache")
    assert code == 0 and not err and "stage: " not in out


@pytest.mark.parametrize("kind", [Output, Messages])
def test_bars_within_bars_are_one_and_messages_take_it_away(
    kind: type[Output], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", kind(terminal))
    with progress.steps_shown("reading", quiet=False), progress.progress_bar("importing") as step:
        assert step is not None
        step(1, 4)
        say_step("kernels", 2, 9)
        bar = progress._current.get()
        assert bar is not None and bar.latest == ("kernels", 2, 9) and bar.shown is not None
        sys.stderr.write("warning: \x1b[31m\n")
        assert bar.shown is None and "warning: \\x1b[31m\n" in terminal.getvalue()
        step(2, 4)
        assert bar.shown is not None
    assert progress._current.get() is None and bar.shown is None


def test_steps_are_heard_by_the_innermost_listener_only() -> None:
    outer: list[tuple[str, int, int]] = []
    inner: list[tuple[str, int, int]] = []
    say_step("nobody", 0, 1)
    with heard_by(lambda *step: outer.append(step)):
        for item in counted("outer", ["a", "b"], str.upper):
            with heard_by(lambda *step: inner.append(step)):
                assert list(counted(item, [1])) == [1]
    assert outer == [("outer: A", 0, 2), ("outer: B", 1, 2), ("outer", 2, 2)]
    assert inner == [("a", 0, 1), ("a", 1, 1), ("b", 0, 1), ("b", 1, 1)]
