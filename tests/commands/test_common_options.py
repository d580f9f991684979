"""What every command has: examples in its help, `--color`, and `-v` and `-q` where it is about files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from irtool.commands import param_types
from irtool.commands.shell import group
from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool
from tests.commands.invocations import FAILING, write_files
from tests.commands.options import commands

NAMES = [name for name in commands() if name]
ABOUT_FILES = [
    name
    for name, command in commands().items()
    if any(isinstance(p, click.Argument) and isinstance(p.type, param_types.Path) for p in command.params)
]


def _is_about_modules(name: str) -> bool:
    return any(p.type is param_types.MODULE for p in commands()[name].params if isinstance(p, click.Argument))


OF_TEXTS = {"fmt", "convert", "import"}
"""Commands about files as they stand: parameters have no values there."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    write_files(tmp_path)
    (tmp_path / "my_operators.py").touch()


def examples(help: str) -> list[str]:
    """The lines below `Examples:`."""
    _, _, rest = help.partition("\n  Examples:\n")
    return [line.strip() for line in rest.split("\n\n")[0].splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples(name: str) -> None:
    short, long = irtool(name, "-h"), irtool(name, "--help")
    assert short == long == irtool("help", name) and short[0] == 0
    assert any(re.search(rf"\birtool {name}\b", line) for line in examples(short[1])), short[1]


def irtool_lines(name: str) -> Iterator[list[str]]:
    """The words of each command of irtool in the examples of a command."""
    for line in examples(irtool(name, "-h")[1]):
        for part in re.split(r"\s\|\s|;|\s[<>]\s|\s{3,}", line):
            if match := re.search(r"\birtool (\S.*)", part.rstrip(' ")')):
                yield shlex.split(match[1])


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_command_lines(name: str) -> None:
    """The options are there, and take what they are given."""
    lines = list(irtool_lines(name))
    assert lines
    for first, *words in lines:
        command = group.get_command(click.Context(group), first)
        assert command is not None, first
        with plugins_kept(), command.make_context(first, words, parent=click.Context(group, info_name="irtool")):
            pass


@pytest.mark.parametrize("name", NAMES)
def test_colour_is_everyones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = (line for line in FAILING if line.split()[0] == name)
    words = line.split()
    plain = irtool(*words)
    assert plain[0] == FAILING[line] and "\x1b" not in plain[2] and "error" in plain[2]
    for before, behind in ((["--color=always"], []), ([], ["--color=always"])):
        monkeypatch.setenv("NO_COLOR", "1")
        code, _, err = irtool(*before, *words, *behind)
        assert code == plain[0] and "\x1b[31m" in err
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m" in irtool(*words)[2]
    assert irtool(*words, "--color=never") == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert irtool(*words) == plain


@pytest.mark.parametrize("name", NAMES)
def test_commands_about_files_have_v_and_q(name: str) -> None:
    """The others print what they were asked for, and nothing else."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    spelled = {o for p in command.params for o in p.opts}
    have = [o for o in ("-v", "--verbose", "-q", "--quiet") if o in spelled]
    if name in ABOUT_FILES:
        assert have == ["-v", "--verbose", "-q", "--quiet"] or name == "fmt", have
    else:
        assert not have


def test_what_verbose_tells() -> None:
    code, _, err = irtool("convert", "w.npz", "x.npz", "-o", "all.npz", "-v")
    assert code == 0
    want = [f"read {n} ({Path(n).stat().st_size} bytes)" for n in ("w.npz", "x.npz")]
    want.append(f"wrote all.npz ({Path('all.npz').stat().st_size} bytes)")
    *notes, last = err.splitlines()
    assert notes == [f"note: {w}" for w in want] and re.fullmatch(r"note: took \d+\.\d\d s", last)
    code, _, err = irtool("check", "bad.relay", "-v")
    assert code == 1 and "note: read bad.relay" in err
    assert "took" not in irtool("check", "nowhere", "-q")[2] and "took" not in irtool("check", "net.relay")[2]


def test_quiet_leaves_notes_errors_and_warnings() -> None:
    assert irtool("opt", "open.relay", "--entry=f", "--shape=x=2,3", "-q")[0] == 0
    code, out, err = irtool("run", "net.relay", "-q")
    assert (code, out) == (0, "") and re.fullmatch(r"note: 2 of 2 parameters are random \(seed 0\): %x, %w\n", err)
    for words in (["check", "net.relay"], ["fmt", "ugly.relay"], ["convert", "w.npz", "-o", "w.params"]):
        assert irtool(*words, "-q") == (0, "", "")
    code, _, err = irtool("check", "bad.relay", "-q")
    assert code == 1 and "error" in err
    code, _, err = irtool("opt", "let.relay", "-q")
    assert "warning" in err or "error" in err


@pytest.mark.parametrize("name", sorted({n for n in ABOUT_FILES if _is_about_modules(n)} - OF_TEXTS))
def test_what_is_known_of_parameters_is_said_in_the_same_words(name: str) -> None:
    options = {o for p in commands()[name].params for o in p.opts}
    assert options >= {"--params", "--shape", "--dim", "--value", "--dtype", "--inputs"}
