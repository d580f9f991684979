"""Runs the terminal sessions of Markdown pages and writes their outputs: `python -m irtool.commands.sessions [PAGE…]`.

A block marked `console` is a session: commands behind `$ `, and below each what it prints. A block with `title="FILE"` is that file.
With `data-needs="arm-none-eabi-gcc flatbuffers"`, a session is left as it is where one of these commands or Python modules is missing.
The blocks of a page run in order, in one folder that has the samples. In an output a line `…` stands for lines left out, and `…` within
a line for any text. What stands between two such lines goes from a line like its first to the next one like its last.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..isolation import irtool_command, python_alone
from ..plugin.loading import LEFT_OUT

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(`{3,})(\w*)(.*)$")
_NEEDS = re.compile(r'\bdata-needs="([^"]+)"')
_TITLE = re.compile(r'\btitle="([^"]+)"')
_LEFT_OUT = "…"
_COLUMNS = "100"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its file name if it has one, the numbers of its first line and of the fence behind it, and the
    commands and modules that it needs."""

    language: str
    title: str
    begin: int
    end: int
    needs: tuple[str, ...] = ()


class Terminal:
    """A shell in a folder of its own, in which `irtool` and `python` are these."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder / "work"
        programs = folder / "bin"
        for path in (self.folder, programs):
            path.mkdir()
        for name, command in (("irtool", irtool_command()), ("python", python_alone())):
            (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
            (programs / name).chmod(0o755)
        (self.folder / "samples").symlink_to(ROOT / "samples")
        self.environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CFLAGS", "CC")}
        self.environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": _COLUMNS}
        self.environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment |= {LEFT_OUT: "1", **environment}

    def run(self, command: str) -> list[str]:
        """The lines that a command prints. Raises RuntimeError if it fails other than by rejecting its input."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        text = done.stdout.decode("utf-8")
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{command} ended with exit code {done.returncode}:\n{text}")
        return [line.rstrip() for line in text.rstrip().splitlines()]


def blocks(lines: Sequence[str]) -> Iterator[Block]:
    """The fenced blocks of a page."""
    fence = language = rest = ""
    begin = 0
    for number, line in enumerate(lines):
        if fence and line == fence:
            title, needs = _TITLE.search(rest), _NEEDS.search(rest)
            yield Block(language, title[1] if title else "", begin, number, tuple(needs[1].split()) if needs else ())
            fence = ""
        elif not fence and (match := _FENCE.match(line)):
            fence, language, rest = match.groups()
            begin = number + 1


def has_sessions(page: str) -> bool:
    """True if there is anything to run."""
    return any(b.language == "console" for b in blocks(page.splitlines()))


def missing_tools(page: str) -> list[str]:
    """The commands and modules that sessions of a page need, and that are not there."""
    needed = dict.fromkeys(tool for b in blocks(page.splitlines()) for tool in b.needs)
    return [tool for tool in needed if _is_missing(tool)]


def _is_missing(tool: str) -> bool:
    return shutil.which(tool) is None and (not tool.isidentifier() or importlib.util.find_spec(tool) is None)


def renew(page: str) -> str:
    """The page with today's outputs of its commands. Raises ValueError if an excerpt no longer occurs."""
    lines = page.splitlines()
    renewed: list[str] = []
    copied = 0
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder))
        for block in blocks(lines):
            body = lines[block.begin : block.end]
            if block.title:
                (terminal.folder / block.title).write_text("".join(f"{line}\n" for line in body), encoding="utf-8")
            if block.language == "console" and not any(map(_is_missing, block.needs)):
                renewed += [*lines[copied : block.begin], *_session(body, terminal.run)]
                copied = block.end
    return "".join(f"{line}\n" for line in [*renewed, *lines[copied:]])


def _session(body: Sequence[str], run: Callable[[str], list[str]]) -> Iterator[str]:
    """The lines of a session, run again."""
    line = 0
    while line < len(body):
        if not body[line].startswith("$ "):
            raise ValueError(f"a session begins with a command, not with: {body[line]}")
        end = line + 1
        while body[end - 1].endswith("\\"):
            end += 1
        command = "\n".join(body[line:end])[2:]
        yield from body[line:end]
        line = end
        while line < len(body) and not body[line].startswith("$ "):
            line += 1
        try:
            yield from excerpt(body[end:line], run(command))
        except ValueError as error:
            raise ValueError(f"{command}: {error}") from None


def excerpt(shown: Sequence[str], output: Sequence[str]) -> list[str]:
    """The excerpts of an output that a page shows: the same ones as before. Raises ValueError if one begins or ends nowhere."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == _LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return _like_before(parts[0], output)
    result: list[str] = []
    end = 0
    for number, part in enumerate(parts):
        result += [_LEFT_OUT] if number else []
        if part:
            is_first, is_last = number == 0, number == len(parts) - 1
            begin = 0 if is_first else _begin(part, output, end)
            end = len(output) if is_last else _find(part[-1], output, begin + (len(part) > 1)) + 1
            result += _like_before(part, output[begin:end])
    return result


def _begin(part: Sequence[str], output: Sequence[str], start: int) -> int:
    """The position of an equal part, or else of a line like the part's first."""
    for begin in range(start, len(output) - len(part) + 1):
        if all(_is_like(p, line) for p, line in zip(part, output[begin:], strict=False)):
            return begin
    return _find(part[0], output, start)


def _find(line: str, output: Sequence[str], start: int) -> int:
    for number in range(start, len(output)):
        if _is_like(line, output[number]):
            return number
    raise ValueError(f"no line is like: {line}\n" + "\n".join(output))


def _like_before(part: Sequence[str], output: Sequence[str]) -> list[str]:
    """The lines of an output; those with text left out before have it left out again."""
    patterns = [p for p in part if _LEFT_OUT in p]
    return [next((p for p in patterns if _is_like(p, line)), line) for line in output]


def _is_like(pattern: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_LEFT_OUT))), line) is not None


if __name__ == "__main__":
    everything = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for path in [Path(a) for a in sys.argv[1:]] or everything:
        text = path.read_text(encoding="utf-8")
        if has_sessions(text) and (new := renew(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(path)
