"""RUN lines: command lines of irtool, joined by pipes, that run in this process, in the folder of the golden file.

`%s` is the file, `%t` a temporary folder that exists only for this case, `%%` a percent sign. Commands are `irtool` and nothing
else; `|` hands the output of one to the next as its standard input. A command behind `not` must fail, and its standard error
counts as output too; any other one must succeed, wherever in the line it stands (as with `pipefail`): the first that does not ends
the line. A command may be followed by `2>&1`, which makes its standard error count as output. Paths in messages are the same
everywhere; the version and the machine at the head of C text are replaced by `%version` and `%machine`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...signals import Interrupted

_WRITTEN_BY = re.compile(r"(Written by irtool )\S+( for )[^;]+;")
_BUG = 3
"""The exit code of a command that shows a bug in irtool."""


@dataclass(frozen=True)
class _Command:
    """One command of a RUN line: the arguments of irtool, and the marks beside them."""

    words: tuple[str, ...]
    must_fail: bool
    both: bool

    @property
    def text(self) -> str:
        return shlex.join(("irtool", *self.words))


def parse_run_line(line: str) -> list[_Command]:
    """The commands of a RUN line, joined by pipes. Raises ValueError, with a sentence, for another line."""
    reader = shlex.shlex(line, posix=True, punctuation_chars="|")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        tokens = list(reader)
    except ValueError as error:
        raise ValueError(f"the line cannot be read: {str(error).lower()}") from None
    stages: list[list[str]] = [[]]
    for word in tokens:
        if word == "|":
            stages.append([])
        elif set(word) == {"|"}:
            raise ValueError(f"a RUN line joins commands by | only, not by {word}")
        else:
            stages[-1].append(word)
    return [_command(stage, n, len(stages)) for n, stage in enumerate(stages, 1)]


def _command(tokens: list[str], number: int, count: int) -> _Command:
    both = "2>&1" in tokens
    tokens = [w for w in tokens if w != "2>&1"]
    must_fail = tokens[:1] == ["not"]
    tokens = tokens[1:] if must_fail else tokens
    if not tokens:
        where = f": command {number} of {count} is missing" if count > 1 else ", not nothing"
        raise ValueError(f"a RUN line runs irtool{where}")
    if tokens[0] != "irtool":
        raise ValueError(f"a RUN line runs irtool, not {tokens[0]}")
    for word in tokens:
        if word in ("&&", "&", ";", ">", ">>", "<", "2>", "|&") or re.match(r"[0-9]?>>?[^=]", word):
            raise ValueError(f"a RUN line has no {word}: only | and 2>&1 (write files with -o, to %t)")
    return _Command(tuple(tokens[1:]), must_fail, both)


@dataclass(frozen=True)
class Place:
    """The folder and files of running commands.

    Attributes:
        folder: of the golden file; commands run there.
        file: the value of `%s`: the golden file's name, or a copy with one of its cases.
        name: the golden file's name, as in messages.
        temporary: the value of `%t`.
    """

    folder: str
    file: str
    name: str
    temporary: str

    def fill(self, word: str) -> str:
        """A word of a command with its percent signs replaced."""
        values = {"%s": self.file, "%t": self.temporary, "%%": "%"}
        return re.sub("%[st%]", lambda m: values[m.group()], word)

    def tidy(self, text: str) -> str:
        """Printed text, without the parts that differ from run to run."""
        text = text.replace(self.temporary, "%t").replace(self.file, self.name)
        return _WRITTEN_BY.sub(r"\1%version\2%machine;", text)


@dataclass(frozen=True)
class Ran:
    """The result of a RUN line: its output, its commands' standard error, and an error message, empty on success."""

    output: str = ""
    messages: str = ""
    problem: str = ""


def run_line(line: str, place: Place, reports_errors: bool = False) -> Ran:
    """Runs a RUN line. With `reports_errors` the last command must fail, by rejecting its input, and messages are not output."""
    try:
        commands = parse_run_line(line)
    except ValueError as error:
        return Ran(problem=str(error))
    if reports_errors:
        commands[-1] = replace(commands[-1], must_fail=True)
    standard_input = b""
    output, messages = "", ""
    for number, command in enumerate(commands, 1):
        err = _Text()
        out = _Text()
        counts = command.both or (command.must_fail and not reports_errors)
        code = _run(command, place, standard_input, out, _Copied(err, out) if counts else err)
        standard_input, output = out.value(), place.tidy(out.text())
        messages += place.tidy(err.text())
        which = f"command {number} ({command.text}): " if len(commands) > 1 else ""
        if command.must_fail == (code == 0) or (reports_errors and code == _BUG):
            printed = output if counts else output + place.tidy(err.text())
            return Ran(printed, messages, f"{which}exit code {code}{', though it should fail' if code == 0 else ''}")
    is_told = commands[-1].must_fail and not reports_errors
    return Ran(output + (f"exit code {code}\n" if is_told else ""), messages)


def _run(command: _Command, place: Place, standard_input: bytes, out: _Text, err: _Text) -> int:
    from ...plugin.loading import plugins_kept
    from ..colour import uncoloured
    from ..shell import INTERRUPTED, execute

    with (
        contextlib.chdir(place.folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _standard_input(standard_input),
        plugins_kept(),
        uncoloured(),
    ):
        code = execute([place.fill(w) for w in command.words])
    if code == INTERRUPTED:  # it is the whole run that is to end
        raise Interrupted
    return code


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
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", newline="", write_through=True)

    def value(self) -> bytes:
        """The written text."""
        return self.bytes.getvalue()

    def text(self) -> str:
        """The same as text."""
        return self.value().decode("utf-8", "replace")


class _Copied(_Text):
    """A text stream whose text goes to two others."""

    def __init__(self, first: _Text, second: _Text) -> None:
        super().__init__()
        self.streams = first, second

    def write(self, text: str) -> int:
        """Writes text to both; returns its length."""
        for stream in self.streams:
            stream.write(text)
        return len(text)
