"""Splits a text into words: one pattern does nearly all of it, and this file the rest.

The rest is: comments inside comments; names with `.`, `/`, `:`, `+`, `-` in them, as the importers of other frameworks make
them (`%layer1.0/conv:0`), where only what has been declared so far tells a name from `%x` followed by `.0`, `+1` or `:int32`;
characters that start no word; and the dialect of the tutorials, in which the end of a line ends a binding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import Diagnostics, Source, Span
from .mistakes import StrayCharacter, UnexpectedWord, Unterminated
from .tables import Tables

Word = tuple[str, str, int]
"""Terminal, text, and offset of the first character."""

_MOST_JUNK = 20
_BLANK = re.compile(r"(?:\s+|/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/)*")
"""Blanks and comments that hold no comments."""
_LONGEST_BLANK = 10_000

_BINDERS = frozenset(("LPAREN", "COMMA", "LET", "FREE_VAR"))
_SIGNATURE = re.compile(r"(?:\bfn|\bdef\s+@[^\s(\[<]+)\s*(?:\[[^\]]*\])?\s*\([^()]*\Z")
_ENDS = frozenset(("RPAREN", "LOCAL", "GRAPH", "NUMBER", "RBRACE", "PROJECTION", "PLAIN_CALL", "TRUE", "FALSE"))


def after_blanks(text: str, offset: int, end: int | None = None) -> int:
    """The first offset from `offset` on where neither a blank nor a comment stands; comments in comments are not looked for."""
    stop = min(len(text) if end is None else end, offset + _LONGEST_BLANK)
    return _BLANK.match(text, offset, stop).end()  # type: ignore[union-attr]  # the pattern matches nothing, too


class Lexer:
    """The words of a source from `start` to `end`."""

    def __init__(
        self, tables: Tables, source: Source, diagnostics: Diagnostics, start: int = 0, end: int | None = None
    ) -> None:
        self.source = source
        self.text = source.text
        self.diagnostics = diagnostics
        self.start = start
        self.end = len(source.text) if end is None else end
        self.tables = tables
        self.paths: set[str] = set()
        """Declared names that are not plain identifiers."""
        self.line_ends_bind = False
        """In the tutorials' dialect: a `(` or `-` at the start of a line starts a statement."""

    def words(self) -> Iterator[Word]:
        """All words, the last one `$END`."""
        text, end, groups, fixed = self.text, self.end, self.tables.groups, self.tables.fixed
        scan = self.tables.word.finditer
        special = frozenset(("PATH", "COMMENT", "JUNK"))
        bind_lines = self.line_ends_bind
        position, junk, previous = self.start, 0, ""
        depth: list[int] = [0]
        while True:
            for match in scan(text, position, end):
                group = match.lastindex
                word = match[group]  # type: ignore[index]  # a match has a last group: each alternative is one
                kind = fixed.get(word) or groups[group]  # type: ignore[index]  # a match has a last group: each alternative is one
                if kind in special:
                    break
                offset = match.end() - len(word)
                if bind_lines:
                    if kind in ("LPAREN", "MINUS") and previous in _ENDS and not depth[-1] and "\n" in match[0]:
                        yield "SEMICOLON", "", offset
                    self._count(kind, depth)
                yield kind, word, offset
                previous = kind
            else:
                return
            offset = match.end() - len(word)
            if kind == "COMMENT":
                position = self._skip_comment(offset)
            elif kind == "PATH":
                name = self._declared_part(word, offset, previous)
                yield "LOCAL", name, offset
                previous = "LOCAL"
                position = offset + len(name)
            else:
                junk += 1
                position = offset + 1
                if junk > _MOST_JUNK:
                    self.diagnostics.error(
                        "too many characters that Relay text does not have; giving up",
                        Span(self.source, offset, offset + 1),
                        code=StrayCharacter,
                    )
                    yield "$END", "", end
                    return
                self._report_junk(word, offset)
                if word in "\"'":
                    position = self._end_of_line(offset)

    def _count(self, kind: str, depth: list[int]) -> None:
        """Keeps `depth`: for each open brace, how many parentheses and brackets are open inside it."""
        if kind == "LBRACE":
            depth.append(0)
        elif kind == "RBRACE" and len(depth) > 1:
            depth.pop()
        elif kind in ("LPAREN", "LSQUARE"):
            depth[-1] += 1
        elif kind in ("RPAREN", "RSQUARE"):
            depth[-1] -= 1

    def _skip_comment(self, offset: int) -> int:
        """The end of the comment that starts at `offset`, with the comments inside it."""
        nesting = 0
        for match in re.compile(r"/\*|\*/").finditer(self.text, offset, self.end):
            nesting += 1 if match[0] == "/*" else -1
            if nesting == 0:
                return match.end()
        self.diagnostics.error("this comment has no end", Span(self.source, offset, offset + 2), code=Unterminated)
        return self.end

    def _end_of_line(self, offset: int) -> int:
        stop = self.text.find("\n", offset, self.end)
        return self.end if stop < 0 else stop

    def _report_junk(self, word: str, offset: int) -> None:
        span = Span(self.source, offset, offset + 1)
        if word in "\"'":
            self.diagnostics.error("this string has no end", span, code=Unterminated)
        elif word == "#":
            self.diagnostics.error(
                "unknown section", span, help='sections are #[version = "0.0.5"] and #[metadata]', code=UnexpectedWord
            )
        else:
            shown = word if word.isprintable() else f"U+{ord(word):04X}"
            self.diagnostics.error(f"the character {shown} has no meaning here", span, code=StrayCharacter)

    def _declared_part(self, word: str, offset: int, previous: str) -> str:
        """The part of `word`, at `offset`, that is the variable's name."""
        if word in self.paths:
            return word
        name, _, kind = word.rpartition(":")
        typed = name and not kind[0].isdigit() and previous in _BINDERS
        if typed and self._sign_after(offset + len(word)) not in (":", "{"):
            word = name
        elif not self._binds(word, offset, previous):
            return self._used_part(word)
        self.paths.add(word)
        return word

    def _used_part(self, word: str) -> str:
        """The part of `word` that is the name of a variable in use."""
        cuts = [m.start() for m in re.finditer(r"[.:+\-/]+", word)]
        for cut in reversed(cuts):
            if word[:cut] in self.paths:
                return word[:cut]
        rest = word[cuts[0] :]
        if re.match(r"[./][A-Za-z_]|/", rest) and not re.fullmatch(r"(?:\.\d+)+", rest):
            return word.split(":")[0].split("+")[0].split("-")[0]
        return word[: cuts[0]]

    def _binds(self, word: str, offset: int, previous: str) -> bool:
        """True where the name is being declared: a parameter, or after `let` or `free_var`."""
        sign = self._sign_after(offset + len(word))
        if previous in ("LET", "FREE_VAR"):
            return sign in ":=;{"
        if previous == "LBRACE":  # of the first clause of a match
            return sign == ":"
        if previous not in ("LPAREN", "COMMA"):
            return False
        if sign in (":", "{"):
            return True
        return sign in (",", ")") and _SIGNATURE.search(self.text, max(0, offset - 300), offset) is not None

    def _sign_after(self, offset: int) -> str:
        """The first character at or behind `offset` that belongs to no blank or comment."""
        offset = after_blanks(self.text, offset, self.end)
        return self.text[offset] if offset < self.end else ""
