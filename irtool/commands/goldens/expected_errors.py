"""ERROR lines: the errors that the commands of a case must report, each where it says.

    %0 = nn.conv2D(%x, %w);  // ERROR: unknown operator

    // ERROR: E0104
    %0 = nn.conv2D(%x, %w);

Behind text, the error is on that line; alone on a line, on the next line that is neither blank nor a comment. `ERROR@+2:` and
`ERROR@-1:` count lines from where they stand, and an `ERROR@any:` may be anywhere, in no line or in another file. The words must
be in the error, its code, notes and help; between slashes they are a regular expression. As with MLIR's -verify-diagnostics, each
error that is reported must be expected, and each that is expected must be reported once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .directives import ERROR, Directive, Mistake

_HEAD = re.compile(r"(?!\s)(?:(.*?):(\d+):\d+: |[^\n]*?: )?(error|warning|notice|difference)(?:\[\w+\])?: ")


@dataclass(frozen=True)
class Expectation:
    """An error that must be reported: the words, and the line, None for any."""

    text: str
    line: int | None
    stands: int

    def fits(self, error: Reported) -> bool:
        """True for an error with these words, wherever it is."""
        if pattern := _pattern(self.text):
            return re.search(pattern, error.text, re.MULTILINE) is not None
        return self.text in error.text


@dataclass(frozen=True)
class Reported:
    """An error that was reported: its line in the golden file, None for another place, and its text behind the place."""

    line: int | None
    text: str


def _pattern(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "/" else ""


def read_expectations(
    directives: Sequence[Directive], lines: Sequence[str], first: int, marker: str
) -> tuple[list[Expectation], list[Mistake]]:
    """Expectations of ERROR lines in the lines of a case, which begin with line number `first`; and the mistakes in them."""
    expected, mistakes = [], []
    for d in directives:
        if d.name != ERROR:
            continue
        try:
            if pattern := _pattern(d.text):
                re.compile(pattern)
            expected.append(Expectation(d.text, _line(d, lines, first, marker), d.line))
        except re.error as error:
            mistakes.append(Mistake(d.line, f"{d.text} is no regular expression: {error}"))
        except ValueError as error:
            mistakes.append(Mistake(d.line, str(error)))
    return expected, mistakes


def _line(directive: Directive, lines: Sequence[str], first: int, marker: str) -> int | None:
    """The line that an ERROR refers to. Raises ValueError, with a sentence, if no such line exists."""
    if directive.at == "any":
        return None
    if directive.at:
        if re.fullmatch(r"[+-]\d+", directive.at) is None:
            raise ValueError(f"ERROR@{directive.at}: is at no place; write ERROR@+1:, ERROR@-1: or ERROR@any:")
        line = directive.line + int(directive.at)
        if not first <= line < first + len(lines):
            raise ValueError(f"ERROR@{directive.at}: is about line {line}, which is not in this case")
        return line
    if not directive.is_alone:
        return directive.line
    for line in range(directive.line + 1, first + len(lines)):
        text = lines[line - first].strip()
        if text and not text.startswith(marker):
            return line
    raise ValueError("ERROR: is about the next line with text, but no line follows; ERROR@any: is about any place")


def read_reported(messages: str, name: str) -> list[Reported]:
    """The errors in commands' standard error; `name` is that of the golden file."""
    reported: list[tuple[str, str, list[str]]] = []
    for line in messages.splitlines():
        if head := _HEAD.match(line):
            location = f"{head[1]}:{head[2]}" if head[2] else ""
            reported.append((location, head[3], [line[head.start(3) :]]))
        elif reported and not line.startswith("  "):  # not the line of the text, which has the ERROR itself
            reported[-1][2].append(line)
    return [
        Reported(_own_line(location, name), "\n".join(text)) for location, level, text in reported if level == "error"
    ]


def _own_line(location: str, name: str) -> int | None:
    file, _, line = location.rpartition(":")
    return int(line) if file == name else None


def compare_errors(expected: Sequence[Expectation], reported: Sequence[Reported]) -> str:
    """Expected errors without a report, and reports that were not expected, a line each; empty if they agree."""
    return "\n".join(f"{_place(line)}: {difference}" for line, difference in error_differences(expected, reported))


def error_differences(
    expected: Sequence[Expectation], reported: Sequence[Reported]
) -> Iterator[tuple[int | None, str]]:
    """The same as pairs of a line of the file, None for another place, and a sentence."""
    left = list(reported)
    missing = []
    for e in sorted(expected, key=lambda e: e.line is None):  # expectations with a place choose first
        match = next((r for r in left if e.line in (None, r.line) and e.fits(r)), None)
        if match is None:
            missing.append(e)
        else:
            left.remove(match)
    yield from _missing(missing, left)
    for r in left:
        yield r.line, f"reported, but not expected: {r.text.partition(chr(10))[0]}"


def _missing(missing: Sequence[Expectation], left: list[Reported]) -> Iterator[tuple[int | None, str]]:
    for e in sorted(missing, key=lambda e: e.stands):
        elsewhere = next((r for r in left if e.fits(r)), None)
        if elsewhere is not None:
            left.remove(elsewhere)
            yield e.line, f"expected, but reported {_elsewhere(elsewhere.line)}: {e.text}"
        else:
            yield e.line, f"expected, but not reported: {e.text}"


def _place(line: int | None) -> str:
    return "anywhere" if line is None else f"line {line}"


def _elsewhere(line: int | None) -> str:
    return "not in this file" if line is None else f"on line {line}"
