"""Completions at a position of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass

from ..ops import operators
from ..parser.symbols import BINDING, CONSTRUCTOR, FUNCTION, VARIABLE
from ..passes.core.option_text import show_value
from ..plugin import type_hints
from .analysis import Analysis
from .outline import outline

KEYWORD, ATTRIBUTE, OPERATOR = "keyword", "attribute", "operator"
_WORD = re.compile(r"[%@]?[\w./]*\Z")
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\Z")
_COMMENTS = re.compile(r"/\*|\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"")
KEYWORDS = ("def", "else", "extern", "false", "fn", "free_var", "if", "let", "match", "meta", "true", "type")
"""The words of the language that are no names."""

_LONGEST_CALL = 10_000
"""Characters in front of a place in which the call around it is looked for."""


@dataclass(frozen=True)
class Candidate:
    """A word, the kind of thing that it names, and a line about it. `cursor` follows the word at once."""

    word: str
    kind: str
    detail: str = ""
    cursor: str = ""


def complete(analysis: Analysis, offset: int) -> tuple[int, list[Candidate]]:
    """The start of the word that ends at a place, and its completions."""
    text = analysis.text[:offset]
    word = _WORD.search(text)
    start = word.start() if word is not None else offset
    if _is_comment(text):
        return offset, []
    sign = text[start : start + 1]
    if sign == "%":
        return start, list(_variables(analysis, offset))
    if sign == "@":
        return start, [
            Candidate(s.name, FUNCTION, str(analysis.type_of(s) or ""))
            for s in analysis.symbols.all
            if s.kind == FUNCTION and s.definition is not None
        ]
    return start, [*_attributes(text[:start]), *_names(analysis)]


def _is_comment(text: str) -> bool:
    """True if a text ends inside a comment; comments may be in comments."""
    depth = 0
    for m in _COMMENTS.finditer(text):
        if m[0] == "/*":
            depth += 1
        elif m[0] == "*/":
            depth -= depth > 0
        elif not depth and m[0].startswith("//") and m.end() == len(text):
            return True
    return depth > 0


def _variables(analysis: Analysis, offset: int) -> Iterator[Candidate]:
    """Variables and bindings of the definition around a place that stand before it, the nearest of a name."""
    around = [i for i in outline(analysis) if i.whole.start <= offset]
    begin = around[-1].whole.start if around else 0
    by_name = {}
    for s in analysis.symbols.all:
        if s.kind in (VARIABLE, BINDING) and s.definition is not None and begin <= s.definition.start < offset:
            if s.definition.end != offset:  # the word that is being written
                by_name[s.name] = s
    for name, s in by_name.items():
        yield Candidate(name, s.kind, str(analysis.type_of(s) or ""))


def _attributes(text: str) -> Iterator[Candidate]:
    """The attributes of the operator whose call is open at the end of a text."""
    name = _open_call(text[-_LONGEST_CALL:])
    cls = operators.find(name) if name else None
    if cls is None:
        return
    hints = type_hints(cls)
    for f in cls.fields():
        default = "required" if f.default is MISSING else f"{show_value(f.default)} if not given"
        yield Candidate(f.name, ATTRIBUTE, f"{getattr(hints[f.name], '__name__', hints[f.name])}, {default}", "=")


def _open_call(text: str) -> str:
    """The name in front of the innermost open parenthesis."""
    depth = 0
    for position in range(len(text) - 1, -1, -1):
        sign = text[position]
        if sign in ")]":
            depth += 1
        elif sign in "([":
            if not depth and sign == "(":
                match = _CALLED.search(text[:position])
                return match[1] if match is not None else ""
            depth -= depth > 0
        elif sign in ";{}" and not depth:
            return ""
    return ""


def _names(analysis: Analysis) -> Iterator[Candidate]:
    for s in analysis.symbols.all:
        if s.kind == CONSTRUCTOR and s.definition is not None:
            yield Candidate(s.name, CONSTRUCTOR)
    for cls in operators:
        yield Candidate(cls.name, OPERATOR, cls.summary())
    for word in KEYWORDS:
        yield Candidate(word, KEYWORD)
