"""The tokens of a primfn, with their positions, and the messages about wrong ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from ...diagnostics import IrError, Source, Span
from ..mistakes import MalformedLoopNest

T = TypeVar("T")

_WORD = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?:bf16|[fiu]\d*)?)
    |(?P<name>@?[^\W\d][\w.$]*)
    |(?P<sign>->|=>|&&|\|\||<=|>=|==|!=|[-+*/%<>!=(){}\[\],:;])
    """,
    re.VERBOSE,
)


class NotRead(Exception):
    """A loop nest with constructs that nests here cannot have. `span` is its place."""

    def __init__(self, what: str, span: Span) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


class Tokens:
    """The tokens of one primfn, read from the front.

    `kinds`, `texts` and `starts` have a word each; the last word is empty, of the kind `end`.
    """

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.end = end
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.at = 0
        text = source.text
        match = _WORD.match
        while start < end:
            token = match(text, start, end)
            if token is None:
                raise self.error(f"unexpected character {text[start]!r}", start, start + 1)
            kind = token.lastgroup
            assert kind is not None
            if kind != "space":
                self.kinds.append(kind)
                self.texts.append(token[0])
                self.starts.append(start)
            start = token.end()
        self.kinds.append("end")
        self.texts.append("")
        self.starts.append(end)

    @property
    def text(self) -> str:
        """The next word."""
        return self.texts[self.at]

    @property
    def kind(self) -> str:
        """The kind of the next word: string, number, name, sign or end."""
        return self.kinds[self.at]

    def ahead(self, n: int) -> str:
        """The word `n` tokens further on; empty behind the last."""
        return self.texts[self.at + n] if self.at + n < len(self.texts) else ""

    def take(self) -> str:
        """The next word, which is left behind."""
        word = self.texts[self.at]
        if self.at < len(self.texts) - 1:
            self.at += 1
        return word

    def skip(self, word: str) -> bool:
        """Leaves the next word behind if it is this one."""
        if self.texts[self.at] != word or self.kinds[self.at] == "string":
            return False
        self.take()
        return True

    def expect(self, word: str) -> None:
        """Leaves this word behind. Raises IrError if another one stands."""
        if not self.skip(word):
            raise self.unexpected(word)

    def name(self, what: str) -> str:
        """A name. Raises IrError for another word."""
        if self.kind != "name":
            raise self.unexpected(what)
        return self.take()

    def integer(self, what: str) -> int:
        """A whole number without suffix."""
        if self.kind != "number" or not self.text.isdigit() or len(self.text) > 19:
            raise self.unexpected(what)
        return int(self.take())

    def list_of(self, one: Callable[[], T], close: str) -> list[T]:
        """`one, one, …` up to the closing sign, which is left behind."""
        result: list[T] = []
        while not self.skip(close):
            if result:
                self.expect(",")
            result.append(one())
        return result

    def span(self, first: int | None = None) -> Span:
        """From the word of that number, or the next one, to the one that was left behind last."""
        begin = self.at if first is None else first
        last = max(self.at - 1, begin)
        return Span(self.source, self.starts[begin], self.starts[last] + len(self.texts[last]))

    def unexpected(self, expected: str) -> IrError:
        """The error for a word other than the required one."""
        actual = f"{self.text!r}" if self.kind != "end" else "the end"
        shown = expected if expected[:1].isalpha() and " " in expected else f"{expected!r}"
        return self.wrong(f"expected {shown}, found {actual}")

    def wrong(self, message: str, first: int | None = None) -> IrError:
        """An error about the tokens from the one of that number, or about the next word."""
        return IrError(message, self.span(first), code=MalformedLoopNest)

    def error(self, message: str, start: int, end: int) -> IrError:
        """An error about these characters."""
        return IrError(message, Span(self.source, start, end), code=MalformedLoopNest)

    def refuse(self, what: str, first: int | None = None) -> NoReturn:
        """Gives up on the nest: it has something that nests here have not."""
        raise NotRead(what, self.span(first))
