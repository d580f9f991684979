"""Suggestions of messages (`help: did you mean nn.relu?`) as edits of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..diagnostics import Diagnostic
from .analysis import Analysis, analyse

_MEANT = re.compile(r"did you mean ([^?]+)\?")
_NAME = re.compile(r"[%@]?[^\W\d][\w.]*")
_SIGILS = "%@"


@dataclass(frozen=True)
class Fix:
    """A change that mends the mistake of a diagnostic: the characters from `start` to `end` become `text`."""

    diagnostic: Diagnostic
    start: int
    end: int
    text: str


def fixes(analysis: Analysis, start: int, end: int) -> list[Fix]:
    """The changes for mistakes between two places of a text, likeliest first.

    A change is offered where the text, read again with it, no longer has the mistake.
    """
    return [
        fix
        for d in analysis.diagnostics
        if d.span is not None and d.span.start <= end and start <= d.span.end
        for name in _meant(d.help)
        for fix in _changes(analysis.text, d, name)
        if _mends(analysis.text, fix)
    ]


def _meant(help: str) -> list[str]:
    """The names of `did you mean A, B or C?`."""
    suggestion = _MEANT.search(help)
    return re.split(r", | or ", suggestion[1]) if suggestion else []


def _changes(text: str, d: Diagnostic, name: str) -> Iterator[Fix]:
    """Each name in the place of a diagnostic that its message speaks of, as the name that is meant."""
    assert d.span is not None
    names = {word.lstrip(_SIGILS) for word in _NAME.findall(d.message)}
    for word in _NAME.finditer(text, d.span.start, max(d.span.end, d.span.start)):
        plain = word[0].lstrip(_SIGILS)
        if plain in names and plain != name.lstrip(_SIGILS):
            sigil = word[0][: len(word[0]) - len(plain)]
            yield Fix(d, word.start(), word.end(), sigil + name.lstrip(_SIGILS))


def _mends(text: str, fix: Fix) -> bool:
    d = fix.diagnostic
    assert d.span is not None
    again = analyse(text[: fix.start] + fix.text + text[fix.end :])
    problems = {(other.message, other.span.start) for other in again.diagnostics if other.span is not None}
    return (d.message, d.span.start) not in problems
