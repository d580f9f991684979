"""RUN lines: how they are read, how their commands are joined, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.commands.goldens.golden import run_golden
from irtool.commands.goldens.run_line import parse_run_line
from tests.command_line import irtool

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }\n'


def golden(folder: Path, *lines: str) -> Path:
    path = folder / "a.relay"
    path.write_text("".join(f"// RUN: {line}\n" for line in lines) + TEXT)
    return path


def test_how_a_line_is_read() -> None:
    first, second = parse_run_line("not irtool opt '--passes=func(\"a|b\",A)' %s 2>&1|irtool check -")
    assert first.words == ("opt", '--passes=func("a|b",A)', "%s") and first.must_fail and first.both
    assert second.words == ("check", "-") and not second.must_fail and not second.both


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cat %s | irtool check -", "a RUN line runs irtool, not cat"),
        ("irtool opt %s | sort", "a RUN line runs irtool, not sort"),
        ("irtool opt %s |", "command 2 of 2 is missing"),
        ("| irtool opt %s", "command 1 of 2 is missing"),
        ("irtool opt %s | | irtool check -", "command 2 of 3 is missing"),
        ("not", "a RUN line runs irtool, not nothing"),
        ("irtool opt %s || irtool check %s", "by | only, not by ||"),
        ("irtool opt %s && irtool check %s", "no &&"),
        ("irtool opt %s > %t/x", "no >"),
        ("irtool opt %s >%t/x", "no >%t/x"),
        ("irtool opt 'x", "no closing quotation"),
    ],
)
def test_lines_that_are_wrong(line: str, message: str, tmp_path: Path) -> None:
    (outcome,), _ = run_golden(str(golden(tmp_path, line)), update=True)
    assert not outcome.passed and message in outcome.message and "RUN 1" in outcome.message
    assert not (tmp_path / "a.relay.expected").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("irtool opt -p Foo %s | irtool check -", "command 1 (irtool opt -p Foo %s): exit code 2"),
        ("irtool opt %s | irtool opt -p Foo - | irtool check -", "command 2 (irtool opt -p Foo -): exit code 2"),
        ("irtool opt %s | not irtool check -", "command 2 (irtool check -): exit code 0, though it should fail"),
        ("not irtool opt %s | irtool check -", "command 1 (irtool opt %s): exit code 0, though it should fail"),
        ("irtool check -", "exit code 1"),
    ],
)
def test_any_command_that_fails_fails_the_line(line: str, message: str, tmp_path: Path) -> None:
    (outcome,), _ = run_golden(str(golden(tmp_path, line)), update=True)
    assert not outcome.passed and message in outcome.message
    assert not (tmp_path / "a.relay.expected").exists()


def test_what_goes_through_a_pipe(tmp_path: Path) -> None:
    path = golden(tmp_path, "irtool opt --passes=FuseOps %s | irtool opt --passes=DefuseOps --types=none -")
    assert irtool("test", "--update", path)[0] == 0
    expected = (tmp_path / "a.relay.expected").read_text()
    assert "Primitive" not in expected and "exp(%x)" in expected
    assert irtool("test", path)[0] == 0
    path.write_text(path.read_text().replace("exp(%x)", "log(%x)"))
    code, out, _ = irtool("test", path)
    assert code == 1 and "+  log(%x)" in out


def test_the_help_says_it() -> None:
    out = irtool("test", "--help")[1]
    assert "| irtool check -" in out and "pipefail" in out
