"""The comments between two words of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BEGIN = re.compile(r"//[^\n]*|/\*")
_SIGN = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Comment:
    """A comment.

    Attributes:
        text: with its signs, without blanks at the ends of its lines.
        newlines: line ends between the previous word and the comment.
        ends_line: True if nothing follows in its last line.
    """

    text: str
    newlines: int
    ends_line: bool

    @property
    def is_line(self) -> bool:
        """True for `// …`, which the end of the line ends."""
        return self.text.startswith("//")


def comments_between(text: str, start: int, end: int) -> tuple[list[Comment], int]:
    """The comments in that part of a text, which has no words; and how many lines end behind the last."""
    comments: list[Comment] = []
    before = start
    for offset, stop in _places(text, start, end):
        written = "\n".join(line.rstrip() for line in text[offset:stop].split("\n"))
        rest = text[stop:end].lstrip(" \t\r\f")
        ends_line = rest.startswith("\n") or (not rest and end == len(text))
        comments.append(Comment(written, text.count("\n", before, offset), ends_line))
        before = stop
    return comments, text.count("\n", before, end)


def _places(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    offset = start
    while match := _BEGIN.search(text, offset, end):
        offset = match.end()
        if match[0] == "/*":
            offset = _end_of_block(text, match.start(), end)
        yield match.start(), offset


def _end_of_block(text: str, offset: int, end: int) -> int:
    """The end of a block comment; comments in it count."""
    nesting = 0
    for match in _SIGN.finditer(text, offset, end):
        nesting += 1 if match[0] == "/*" else -1
        if not nesting:
            return match.end()
    return end
