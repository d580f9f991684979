"""Golden files: a `.relay` file says in `// RUN:` lines what to run, and the file beside it what comes out.

    // RUN: irtool opt --passes=FoldConstant %s
    // RUN: not irtool opt --passes=Foo %s

    // RUN: irtool opt --passes=A %s | irtool opt --passes=B - | irtool check -

ONNX models in the syntax of `onnx.parser` (`.onnxtxt`), whose comments begin with `#`, are goldens, too. `%s` is the file, `%t` a temporary folder that exists only for this file, `%%` a percent sign. Commands are `irtool` and
nothing else; `|` hands the output of one to the next as its standard input. A command behind `not` must fail, and its
standard error counts as output too; any other one must succeed, wherever in the line it stands (as with `pipefail`): the
first that does not ends the line. A command may be followed by `2>&1`, which makes its standard error count as output. `X.relay.expected` holds the outputs of all lines, each after the
first introduced by a line `// RUN 2`, `// RUN 3`, … A file without RUN lines is no test. Commands run in this process,
in the file's folder, so paths in messages are the same everywhere; the version and the machine at the head of C text are
replaced by `%version` and `%machine`.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

_ENDINGS = (".relay", ".onnxtxt")
_EXPECTED = tuple(f"{ending}.expected" for ending in _ENDINGS)
_WRITTEN_BY = re.compile(r"(Written by irtool )\S+( for )[^;]+;")
_RUN = re.compile(r"^\s*(?://|#)\s*RUN:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """The result of one golden file. `message` is empty if it passed."""

    path: str
    message: str = ""
    updated: bool = False

    @property
    def passed(self) -> bool:
        return not self.message


def find_goldens(path: str) -> Iterator[str]:
    """The golden files below a folder (or the one file), sorted; and expected outputs that belong to none."""
    if os.path.isfile(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            full = os.path.join(folder, name)
            is_stale = name.endswith(_EXPECTED) and not _has_run_lines(full.removesuffix(".expected"))
            if is_stale or (name.endswith(_ENDINGS) and _has_run_lines(full)):
                yield full


def _has_run_lines(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            return _RUN.search(source.read()) is not None
    except FileNotFoundError:
        return False


def is_golden(text: str) -> bool:
    """True for a text with a `// RUN:` line."""
    return _RUN.search(text) is not None


def run_golden(path: str, update: bool = False) -> Outcome:
    """Runs one golden file; with `update` the expected file is rewritten where the output differs."""
    if path.endswith(_EXPECTED):
        test = os.path.basename(path).removesuffix(".expected")
        return Outcome(path, f"nothing prints this: there is no {test} beside it with a `// RUN:` line; remove it")
    with open(path, encoding="utf-8", errors="replace") as source:
        commands = _RUN.findall(source.read())
    if not commands:
        return Outcome(path, "the file has no `// RUN:` line")
    parts = []
    with tempfile.TemporaryDirectory(prefix="irtool-test-") as temporary:
        for number, command in enumerate(commands, 1):
            text, problem = _run_line(command, path, temporary)
            if problem:
                return Outcome(path, f"RUN {number}: {problem}\n{text}")
            parts.append(text if number == 1 else f"// RUN {number}\n{text}")
    got = "".join(p if p.endswith("\n") or not p else p + "\n" for p in parts)
    expected = path + ".expected"
    want = ""
    if os.path.exists(expected):
        with open(expected, encoding="utf-8") as source:
            want = source.read()
        if want == got:
            return Outcome(path)
    if update:
        from .output import write_text

        write_text(expected, got)
        return Outcome(path, updated=True)
    if not os.path.exists(expected):
        return Outcome(path, f"{os.path.basename(expected)} is missing; --update writes it")
    diff = difflib.unified_diff(want.splitlines(), got.splitlines(), "expected", "printed", lineterm="")
    return Outcome(path, "\n".join(diff))


@dataclass(frozen=True)
class _Command:
    """One command of a RUN line: the arguments of irtool, and what is said beside them."""

    words: tuple[str, ...]
    must_fail: bool
    both: bool

    @property
    def text(self) -> str:
        return shlex.join(("irtool", *self.words))


def parse_run_line(line: str) -> list[_Command]:
    """The commands of a RUN line, joined by pipes. Raises ValueError, with a sentence, where it is none."""
    reader = shlex.shlex(line, posix=True, punctuation_chars="|")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = list(reader)
    except ValueError as error:
        raise ValueError(f"the line cannot be read: {str(error).lower()}") from None
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        elif set(word) == {"|"}:
            raise ValueError(f"a RUN line joins commands by | only, not by {word}")
        else:
            stages[-1].append(word)
    return [_command(stage, n, len(stages)) for n, stage in enumerate(stages, 1)]


def _command(words: list[str], number: int, count: int) -> _Command:
    both = "2>&1" in words
    words = [w for w in words if w != "2>&1"]
    must_fail = words[:1] == ["not"]
    words = words[1:] if must_fail else words
    if not words:
        where = f": command {number} of {count} is missing" if count > 1 else ", not nothing"
        raise ValueError(f"a RUN line runs irtool{where}")
    if words[0] != "irtool":
        raise ValueError(f"a RUN line runs irtool, not {words[0]}")
    for word in words:
        if word in ("&&", "&", ";", ">", ">>", "<", "2>", "|&") or re.match(r"[0-9]?>>?[^=]", word):
            raise ValueError(f"a RUN line has no {word}: only | and 2>&1 (write files with -o, to %t)")
    return _Command(tuple(words[1:]), must_fail, both)


def _run_line(line: str, path: str, temporary: str) -> tuple[str, str]:
    """Output, and what is wrong with the line or an exit code (empty if nothing)."""
    from ..plugin.loading import plugins_kept
    from .shell import execute

    try:
        commands = parse_run_line(line)
    except ValueError as error:
        return "", str(error)
    values = {"%s": os.path.basename(path), "%t": temporary, "%%": "%"}
    given = b""
    text = ""
    for number, command in enumerate(commands, 1):
        words = [re.sub("%[st%]", lambda m: values[m.group()], w) for w in command.words]
        out, err = _Text(), _Text()
        with (
            contextlib.chdir(os.path.dirname(os.path.abspath(path))),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out if command.both or command.must_fail else err),
            _standard_input(given),
            plugins_kept(),
        ):
            code = execute(words)
        given, text = out.buffer.getvalue(), out.getvalue().replace(temporary, "%t")  # type: ignore[attr-defined]  # the stream is made over a BytesIO
        text = _WRITTEN_BY.sub(r"\1%version\2%machine;", text)
        if command.must_fail == (code == 0):
            said = text + err.getvalue().replace(temporary, "%t")
            which = f"command {number} ({command.text}): " if len(commands) > 1 else ""
            return said, f"{which}exit code {code}" + (", though it should fail" if command.must_fail else "")
    return text + (f"exit code {code}\n" if commands[-1].must_fail else ""), ""


@contextlib.contextmanager
def _standard_input(data: bytes) -> Iterator[None]:
    """Commands read `data` from their standard input meanwhile."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before


class _Text(io.TextIOWrapper):
    """A text stream in memory that has a `buffer`, as the real standard streams do."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="", write_through=True)

    def getvalue(self) -> str:
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]  # the stream is made over a BytesIO
