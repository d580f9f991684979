"""Semantic tokens: the words of a text with their meanings, for editors that colour by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..parser.symbols import BINDING, CONSTRUCTOR, FUNCTION, OPERATOR, TYPE, TYPE_PARAMETER, VARIABLE
from .analysis import Analysis
from .completion import KEYWORDS
from .lines import Lines

KINDS = (
    "comment",
    "string",
    "number",
    "keyword",
    "variable",
    "parameter",
    "function",
    "type",
    "typeParameter",
    "enumMember",
    "property",
)
"""Kinds of tokens in the protocol's words; tokens name them by index."""

MODIFIERS = ("declaration", "defaultLibrary")
"""Modifiers in the protocol's words; a token has a bit for each."""

_DECLARATION, _LIBRARY = 1, 2

_WORDS = re.compile(
    r"""(?P<open>/\*)|(?P<line>//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<sigil>[%@][\w./]*)
    |(?P<number>\d[\w.]*(?:(?<=[eE])[+-]\d\w*)?)
    |(?P<attribute>[A-Za-z_][\w.]*)(?=\s*=(?!=))
    |(?P<name>[A-Za-z_][\w.]*)""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"/\*|\*/")
_DTYPE = re.compile(r"(?:u?int|float|bfloat)\d+|bool|Tensor|fn|ref")


class Token(NamedTuple):
    """Characters `start` to `end`, on one line, with their kind and modifiers."""

    start: int
    end: int
    kind: str
    modifiers: int = 0


def semantic_tokens(analysis: Analysis) -> list[Token]:
    """The tokens of a text, in order. Names are those that reading found; other words are known by their form."""
    tokens = {t.start: t for t in _by_form(analysis.text)}
    comments = [(t.start, t.end) for t in tokens.values() if t.kind in ("comment", "string")]
    hidden = {start for start, _ in comments}
    for token in _names(analysis):
        if token.start not in hidden:
            tokens[token.start] = token
    ordered = sorted(tokens.values())
    return [t for last, t in zip([None, *ordered], ordered) if last is None or last.end <= t.start]


def encode(tokens: Iterable[Token], lines: Lines) -> list[int]:
    """The tokens in the numbers of the protocol: five each, lines and columns as differences from the one before."""
    data: list[int] = []
    last = (0, 0)
    for t in tokens:
        line, column = lines.position(t.start)
        length = lines.position(t.end)[1] - column
        data += [line - last[0], column - (last[1] if line == last[0] else 0), length, KINDS.index(t.kind), t.modifiers]
        last = line, column
    return data


def _names(analysis: Analysis) -> Iterator[Token]:
    kinds = {
        VARIABLE: "parameter",
        BINDING: "variable",
        FUNCTION: "function",
        TYPE: "type",
        TYPE_PARAMETER: "typeParameter",
        CONSTRUCTOR: "enumMember",
        OPERATOR: "function",
    }
    for symbol in analysis.symbols.all:
        library = _LIBRARY if symbol.kind == OPERATOR else 0
        for place in symbol.places:
            is_declared = symbol.definition is not None and place.start == symbol.definition.start
            if "\n" not in analysis.text[place.start : place.end]:
                yield Token(place.start, place.end, kinds[symbol.kind], library | _DECLARATION * is_declared)


def _by_form(text: str) -> Iterator[Token]:
    """Comments, strings, numbers, keywords, attributes and types; variables and functions by their signs."""
    position = 0
    while (m := _WORDS.search(text, position)) is not None:
        position = m.end()
        if m.lastgroup == "open":
            position = _end_of_comment(text, m.end())
            yield from _on_lines(text, m.start(), position, "comment")
        elif m.lastgroup == "line":
            yield Token(m.start(), m.end(), "comment")
        elif m.lastgroup == "sigil":
            yield Token(m.start(), m.end(), "function" if m[0][0] == "@" else "variable")
        elif m.lastgroup in ("string", "number"):
            yield Token(m.start(), m.end(), m.lastgroup)
        elif m.lastgroup == "attribute":
            yield Token(m.start(), m.end(), "property")
        elif m[0] in KEYWORDS:
            yield Token(m.start(), m.end(), "keyword")
        elif _DTYPE.fullmatch(m[0]) is not None:
            yield Token(m.start(), m.end(), "type", _LIBRARY)


def _end_of_comment(text: str, position: int) -> int:
    """Behind the end of a comment, which may hold others; the end of the text if it has none."""
    depth = 1
    while depth and (m := _COMMENT.search(text, position)) is not None:
        depth += 1 if m[0] == "/*" else -1
        position = m.end()
    return len(text) if depth else position


def _on_lines(text: str, start: int, end: int, kind: str) -> Iterator[Token]:
    """A token for each line of some characters: clients need not take longer ones."""
    for line in text[start:end].splitlines(keepends=True):
        width = len(line.rstrip("\r\n"))
        if width:
            yield Token(start, start + width, kind)
        start += len(line)
