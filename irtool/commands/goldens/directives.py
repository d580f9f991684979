"""Directives: comments of a golden file that say how to test it.

    // RUN: irtool check %s
    // XFAIL: sums of int8 are not exact yet
    %0 = nn.conv2D(%x, %w);  // ERROR: unknown operator

A comment that begins with a word in capitals and a colon is a directive, or a mistake: a misspelt one must not be passed over in
silence. Words that people use for notes to each other are neither.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...did_you_mean import most_alike, nearest

RUN, ERROR, XFAIL, REQUIRES = "RUN", "ERROR", "XFAIL", "REQUIRES"
KNOWN = (RUN, ERROR, XFAIL, REQUIRES)
_NOTES = frozenset(("TODO", "FIXME", "NOTE", "XXX", "HACK", "BUG", "WARNING"))
_OF_OTHERS = {
    "CHECK": "output is compared with all of FILE.expected, which --update writes",
    "UNSUPPORTED": "REQUIRES: FEATURE runs a case only where that is there",
    "SKIP": "REQUIRES: FEATURE runs a case only where that is there",
    "EXPECT": "output is compared with FILE.expected; ERROR: TEXT expects an error",
}
"""Words of other test runners, and their counterparts here."""
_WORD = re.compile(r"\s*([A-Z][A-Z_-]*)(?:@([^\s:]*))?(\s*:)?\s*(.*?)\s*$")
_SIGN = re.compile(r"^\s*(?://|#)\s*([A-Z][A-Z_-]{2,})(?:@[^\s:]*)?:", re.MULTILINE)
_LOUD = re.compile(rf"(//\s*)((?:{'|'.join(KNOWN)})(?:@[^\s:]*)?:)|^// -----[ \t]*$", re.MULTILINE)
SEPARATOR = re.compile(r"(?://|#) -----[ \t]*\r?")
"""The line between two cases."""


@dataclass(frozen=True)
class Directive:
    """One of them: `NAME@AT: text`, on a line (1-based), alone there or behind text."""

    name: str
    text: str
    line: int
    is_alone: bool = True
    at: str = ""


@dataclass(frozen=True)
class Mistake:
    """A mistake in a golden file, and its line (1-based)."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


def marker_of(path: str) -> str:
    """The start of a comment in such a file."""
    return "#" if path.endswith(".onnxtxt") else "//"


def is_golden(text: str) -> bool:
    """True for a text with a directive, or with a misspelt one."""
    signs = set(_SIGN.findall(text))
    return any(w in KNOWN for w in signs) or any(most_alike(w, KNOWN) for w in signs - _NOTES)


def silenced(text: str) -> str:
    """A Relay text in which comments are no directives any more, and no separators."""
    return _LOUD.sub(lambda m: m[1] + m[2].lower().replace("run:", "ran:") if m[2] else "// ----", text)


def read_directives(lines: list[str], marker: str, first: int = 1) -> tuple[list[Directive], list[Mistake]]:
    """The directives in lines that begin with line number `first`, and the mistakes in them."""
    directives: list[Directive] = []
    mistakes: list[Mistake] = []
    for line, comment, is_alone in _comments(lines, marker, first):
        match = _WORD.match(comment)
        if match is None:
            continue
        name, place, colon, text = match[1], match[2], match[3], match[4]
        if problem := _problem(name, place, colon, text, is_alone):
            mistakes.append(Mistake(line, problem))
        elif name in KNOWN and colon:
            directives.append(Directive(name, text, line, is_alone, place or ""))
    return directives, mistakes


def _problem(name: str, place: str | None, colon: str | None, text: str, is_alone: bool) -> str:
    """The mistake in a comment that begins with a word in capitals; empty if it is a correct directive, or no directive."""
    if name in KNOWN:
        if not colon:
            is_meant = not text or (name == RUN and text.startswith(("irtool", "not ")))
            return f"a colon is missing: {name}: …" if is_meant else ""
        if place is not None and name != ERROR:
            return f"{name} takes no place: write {name}: {text}"
        if not text:
            return f"{name}: says nothing; {_TAKES[name]}"
        return "" if is_alone or name == ERROR else f"{name}: stands on a line of its own"
    if not colon or name in _NOTES or len(name) < 3 or not (is_alone or most_alike(name, KNOWN)):
        return ""
    known = next((suggestion for other, suggestion in _OF_OTHERS.items() if name.startswith(other)), "")
    hint = known or nearest(name, KNOWN) or f"known are {', '.join(KNOWN)}; a note begins with NOTE:"
    return f"unknown directive {name}: ({hint})"


_TAKES = {
    RUN: "it takes a command, such as irtool check %s",
    ERROR: "it takes words of the message, or a /REGEX/",
    XFAIL: "it takes the reason",
    REQUIRES: "it takes features, with commas between them; irtool test --features lists them",
}


def _comments(lines: list[str], marker: str, first: int) -> Iterator[tuple[int, str, bool]]:
    """The comments that may be directives: line number, text behind the marker, and whether the line holds nothing else."""
    for number, line in enumerate(lines, first):
        if marker not in line:
            continue
        if line.lstrip().startswith(marker):
            yield number, line.lstrip()[len(marker) :], True
            continue
        for match in _tokens(marker).finditer(line):
            if match[1]:
                yield number, line[match.end() :], False
                break


@functools.cache
def _tokens(marker: str) -> re.Pattern[str]:
    """Strings and comments within a line, so that a marker inside them is ignored; a line's own comment is the group."""
    return re.compile(rf'"(?:\\.|[^"\\])*"|/\*.*?\*/|({marker})')
