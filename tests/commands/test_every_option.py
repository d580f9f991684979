"""Every command with every option, at least once; a new option that no line of `invocations` has fails here."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from irtool.plugin.loading import plugins_kept
from tests.command_line import irtool
from tests.commands.invocations import LINES, write_files
from tests.commands.options import commands, words_of

_NEEDED = {"--input d=cat.png": "PIL", ".onnx": "onnx"}
"""Packages of extras, by what lines have that need them."""


def options(words: list[str]) -> set[str]:
    """The names of options among words: `--name` of `--name=value`, `-O` of `-O3`, `-MD` itself."""
    short = {w for w in words if w.startswith("-") and not w.startswith("--") and w != "-"}
    return {w.partition("=")[0] for w in words if w.startswith("--")} | short | {w[:2] for w in short}


def test_no_option_is_left_out() -> None:
    used: dict[str, set[str]] = {name: set() for name in commands()}
    for line, _, _ in LINES:
        name, before, behind = words_of(line)
        used[""] |= options(before)
        used[name] |= options(behind)
    lacking = [
        f"irtool {name} {'/'.join(spelled)}"
        for name, command in commands().items()
        for p in command.params
        if isinstance(p, click.Option)
        for spelled in (p.opts, p.secondary_opts)
        if spelled and not used[name] & set(spelled)
    ]
    lacking += [f"irtool {name}" for name in used if name not in {words_of(line)[0] for line, _, _ in LINES}]
    assert not lacking, "no line of tests/commands/invocations.py has these"


def differences(line: str, code: int, expected: tuple[str, ...]) -> Iterator[str]:
    """Runs a line, and gives what it does otherwise than wanted."""
    got, out, err = irtool(*shlex.split(line))
    if got != code:
        yield f"exit code {got} instead of {code}"
    for want in expected:
        where, _, text = want.removeprefix("not ").partition(":")
        printed = {"out": out, "err": err}.get(where)
        if printed is None:
            has = Path(where).is_file() and text.encode() in Path(where).read_bytes()
        else:
            has = text in printed
        if has == want.startswith("not "):
            yield f"{want}\n  printed: {out[-2000:]}\n  said: {err[-2000:]}"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_every_line_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order: some read what others have written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)  # the lines are those of a machine without this extra
    write_files(tmp_path)
    wrong = []
    with plugins_kept():
        for line, code, expected in LINES:
            assert expected, f"{line}: nothing is wanted of it"
            if any(part in line and importlib.util.find_spec(package) is None for part, package in _NEEDED.items()):
                continue
            wrong += [f"irtool {line}\n  {difference}" for difference in differences(line, code, expected)]
    assert not wrong, "\n".join(wrong)
