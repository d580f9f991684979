"""The tokens of a text, with the grammar's role of its brackets and signs: enough to lay the text out anew.

The tables that read a text are run once more with a builder that makes nothing: the rules that are reduced tell a block from the
fields of a record, a binding from an attribute, and a subtraction from a sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostics, Source, Span
from ..ir import Expr, Module
from .lexer import Word
from .reader import Reader
from .tables import load
from .text import accepted_form, words_of_form

LOWERED = "LOWERED"
"""The kind of a word that is a whole lowered function."""


@dataclass
class Outline:
    """The code of a text.

    Attributes:
        holds: the module or the expression of the text.
        source: the code, without the metadata section.
        words: in order of place; lowered functions are one word each.
        blocks: where the closing braces of bodies, branches and blocks are.
        lists: where the closing braces of type definitions and matches are.
        infixes: where the operators between two operands are.
        binders: where the `=` of `let`s are, and where `%0 = …` begins.
        statements: where bindings and sequenced expressions end, behind the `;`, which the tutorials' dialect has not.
        items: where definitions end.
    """

    holds: Module | Expr
    source: Source
    words: list[Word] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    lists: set[int] = field(default_factory=set)
    infixes: set[int] = field(default_factory=set)
    binders: set[int] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)
    items: set[int] = field(default_factory=set)


def outline(text: str, filename: str = "<text>") -> Outline:
    """The outline of a text. Raises IrError with every mistake that was found."""
    holds, source, form, start = accepted_form(text, filename)
    result = Outline(holds, source)
    diagnostics = Diagnostics()
    builder: Any = _Roles(result, diagnostics)
    tables = load()
    words = words_of_form(tables, source, diagnostics, form)
    Reader(tables, builder, start, form.lines_bind).run(_recorded(words, result.words))
    diagnostics.check()
    for span in form.lowered.values():
        result.words.append((LOWERED, source.text[span.start : span.end], span.start))
        result.items.add(span.end)
    if form.version_word is not None and form.version_word not in result.words:
        result.words.append(form.version_word)
    result.words = sorted(dict.fromkeys(result.words), key=lambda word: word[2])
    return result


def _recorded(words: Iterator[Word], into: list[Word]) -> Iterator[Word]:
    """The words as they are; those that stand in the text are put into the list."""
    for word in words:
        if word[1]:
            into.append(word)
        yield word


class _Roles:
    """A builder without nodes, which notes the places of brackets and signs from rules."""

    def __init__(self, outline: Outline, diagnostics: Diagnostics) -> None:
        self.source = outline.source
        self.unwinding = False
        self._diagnostics = diagnostics
        self._text = outline.source.text
        ends = {
            "function": outline.blocks,
            **dict.fromkeys(("opaque_type", "algebraic_type", "match", "match_nothing"), outline.lists),
            **dict.fromkeys(("let_head", "let_head_typed"), outline.binders),
        }
        self._methods: dict[str, Callable[[list[Any], int, int], None]] = {
            **{name: _last(into) for name, into in ends.items()},
            **{n: _end(outline.items) for n in ("define", "define_type", "define_extern_type", "define_extern")},
            **{n: _end(outline.statements) for n in ("bind_let", "free_var", "free_var_typed", "sequence")},
            "infix": lambda _, start, end: outline.infixes.add(start),
            "bind_graph": self._bind_graph,
            "second": self._second,
        }
        self._outline = outline

    def __getattr__(self, name: str) -> Callable[[list[Any], int, int], None]:
        return self._methods.get(name, _nothing)

    def error(self, message: str, start: int, end: int, **more: Any) -> None:
        """A mistake; an accepted text has none."""
        self._diagnostics.error(message, Span(self.source, start, end), **more)

    def _bind_graph(self, values: list[Any], start: int, end: int) -> None:
        self._outline.binders.add(start)
        self._outline.statements.add(end)

    def _second(self, values: list[Any], start: int, end: int) -> None:
        if self._text[start] == "{":
            self._outline.blocks.add(end - 1)


def _nothing(values: list[Any], start: int, end: int) -> None:
    """The result of most rules."""


def _last(into: set[int]) -> Callable[[list[Any], int, int], None]:
    return lambda _, start, end: into.add(end - 1)


def _end(into: set[int]) -> Callable[[list[Any], int, int], None]:
    return lambda _, start, end: into.add(end)
