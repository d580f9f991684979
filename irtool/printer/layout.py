"""The canonical layout of Relay text: the words and comments of the author, in the lines of the printer.

Names, bindings and attributes stay as they are written; only blanks, ends of lines and the commas behind last elements change. What
irtool prints is laid out already. Unlike the printer, the layout keeps single empty lines between statements, and a list whose bracket
ends a line: it has one element on a line then, as has every list with comments on lines of their own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from ..diagnostics import InternalError, IrError
from ..ir.structural import structural_equal
from ..parser.comments import comments_between
from ..parser.lexer import Word
from ..parser.metadata import find_section
from ..parser.outline import LOWERED, Outline, outline
from .brevity import deeper

_OPENING = {"LPAREN": "RPAREN", "LSQUARE": "RSQUARE", "LBRACE": "RBRACE"}
_CLOSING = frozenset(_OPENING.values())
_TIGHT_BEFORE = _CLOSING | {"COMMA", "SEMICOLON", "COLON", "PROJECTION"}
_TIGHT_AFTER = frozenset(("LPAREN", "LSQUARE"))
_OPERANDS = frozenset(("NAME", "GLOBAL", "LOCAL", "GRAPH", "PLAIN_CALL", "CUSTOM", "TENSOR", "META", "PROJECTION"))
_APPLIED = _OPERANDS | {"RPAREN", "RBRACE", "RSQUARE", "REF", "REF_READ", "REF_WRITE", "GREATER"}
"""What a `(` or `[` stands directly behind."""
_COMMA = re.compile(r", ?")
_VERSION = re.compile(r"#\[\s*version\s*=\s*(.*?)\s*\]")


def lay_out(text: str, filename: str = "<text>") -> str:
    """The text in canonical layout. Its meaning is the same, and is checked to be; so are its words and comments.

    Raises IrError for a text that does not parse, and InternalError where the check fails.
    """
    section = find_section(text)
    before = outline(text, filename)
    rest = "" if section < 0 else text[section:]
    for with_semicolons in (True, False):
        code = _Layout(before, with_semicolons).text()
        result = f"{code}\n{rest}" if rest else code
        try:
            after = outline(result, filename)
        except IrError:  # a text with a version line may have short names only while it has no `;`
            continue
        if _essence(before) == _essence(after) and structural_equal(before.holds, after.holds):
            return result
    raise InternalError("the text would not be the same in canonical layout", filename=filename)


def _essence(o: Outline) -> tuple[str, list[str]]:
    """The parts of a text that the layout keeps: its words, which may hold commas and blanks or stand beside them, and its comments."""
    essence = "".join(_canonical(w) for w in o.words if w[0] not in ("COMMA", "SEMICOLON"))
    text, offset = o.source.text, 0
    comments: list[str] = []
    for _, word, start in [*o.words, ("$END", "", len(text))]:
        comments += [c.text for c in comments_between(text, offset, start)[0]]
        offset = start + len(word)
    return re.sub(r"[\s,]", "", essence), comments


def _canonical(word: Word) -> str:
    kind, text, _ = word
    if kind in ("INT_LIST", "TENSOR_TYPE"):
        return _COMMA.sub(", ", text)
    if kind == "VERSION":
        return _VERSION.sub(r"#[version = \1]", text)
    if kind == LOWERED:
        return text.replace("\r\n", "\n")
    return text


@dataclass
class _Bracket:
    """An open bracket: where it stands among the words, whether each of its elements has a line, how far in it is."""

    at: int
    end: int
    broken: bool = False
    is_block: bool = False
    commas: int = 0
    inner: int = 0


class _Layout:
    """One run over the words of an outline."""

    def __init__(self, o: Outline, with_semicolons: bool) -> None:
        self.outline = o
        self.words = o.words
        self.source = o.source.text
        self.added: dict[int, str] = {}
        """Signs that are written behind the words of these numbers."""
        self.dropped: set[int] = set()
        self.ending: set[int] = set()
        """The numbers of the words that end statements."""
        self._find_statements(with_semicolons)
        self.brackets = self._find_brackets()
        self.out: list[str] = []
        self.open: list[_Bracket] = []

    # ---- tokens and comments

    def _find_statements(self, with_semicolons: bool) -> None:
        ends = [offset + len(word) for _, word, offset in self.words]
        for end in self.outline.statements:
            n = bisect_right(ends, end) - 1
            self.ending.add(n)
            if with_semicolons and self.words[n][0] != "SEMICOLON":
                self.added[n] = ";"

    def _find_brackets(self) -> dict[int, _Bracket]:
        """The brackets by the numbers of the words that open them."""
        result: dict[int, _Bracket] = {}
        stack: list[_Bracket] = []
        for n, (kind, _, offset) in enumerate(self.words):
            if stack and self._breaks(n, n - 1 == stack[-1].at):
                stack[-1].broken = True
            if kind in _OPENING:
                stack.append(_Bracket(n, -1))
                result[n] = stack[-1]
            elif kind == "COMMA" and stack:
                stack[-1].commas += 1
            elif kind in _CLOSING and stack:
                bracket = stack.pop()
                bracket.end = n
                bracket.is_block = offset in self.outline.blocks
                is_list = offset in self.outline.lists
                bracket.broken |= bracket.is_block or is_list
                self._settle_last_comma(bracket, is_list)
            if n in self.ending and stack:
                stack[-1].broken = True
        return result

    def _breaks(self, n: int, is_first: bool) -> bool:
        """True where the words before number `n` ask for one element on a line."""
        start = self.words[n - 1][2] + len(self.words[n - 1][1])
        end = self.words[n][2]
        if end - start < 2 and (not is_first or self.source[start:end] != "\n"):
            return False
        comments, newlines = comments_between(self.source, start, end)
        if is_first and self.words[n][0] not in _CLOSING and (comments[0].newlines if comments else newlines):
            return True
        return any(c.is_line or (c.newlines and c.ends_line) for c in comments)

    def _settle_last_comma(self, b: _Bracket, is_list: bool) -> None:
        last = b.end - 1
        if is_list:
            if last != b.at and self.words[last][0] != "COMMA":
                self.added[last] = ","
        elif self.words[last][0] == "COMMA":
            is_shape = [w[0] for w in self.words[max(b.at - 2, 0) : b.at]] == ["TENSOR", "LSQUARE"]
            if b.commas > 1 or is_shape:
                self.dropped.add(last)

    # ---- lines

    def text(self) -> str:
        """The code in canonical layout, with an end of line at its end."""
        previous = -1
        for n in range(len(self.words)):
            if n in self.dropped:
                continue
            self._write(previous, n)
            previous = n
        self._gap(previous, len(self.words), "\n" if previous >= 0 else "")
        return "".join(self.out).strip("\n") + "\n"

    def _write(self, previous: int, n: int) -> None:
        kind = self.words[n][0]
        self._gap(previous, n, self._separator(previous, n))
        if kind in _CLOSING and self.open:
            self.open.pop()
        self.out.append(_canonical(self.words[n]))
        self.out.append(self.added.get(n, ""))
        if kind in _OPENING:
            bracket = self.brackets[n]
            bracket.inner = deeper(self._indent()) if bracket.broken else self._indent()
            self.open.append(bracket)

    def _indent(self) -> int:
        return self.open[-1].inner if self.open else 0

    def _outer_indent(self) -> int:
        return self.open[-2].inner if len(self.open) > 1 else 0

    def _gap(self, previous: int, n: int, separator: str) -> None:
        """Writes the text between two words: comments, ends of lines, blanks."""
        previous_word = self.words[previous] if previous >= 0 else ("", "", 0)
        start, end = (
            previous_word[2] + len(previous_word[1]),
            self.words[n][2] if n < len(self.words) else len(self.source),
        )
        closes = n < len(self.words) and self.words[n][0] in _CLOSING
        opens = previous >= 0 and previous_word[0] in _OPENING
        if end - start < 2 and previous >= 0 and separator != "\n":
            self.out.append(separator)
            return
        comments, newlines = comments_between(self.source, start, end)
        is_item_end = previous >= 0 and start in self.outline.items
        after_version = previous >= 0 and previous_word[0] in ("VERSION", "LENGTHS")
        indent = self._indent() + (0 if separator == "\n" or previous < 0 else 2)
        first, glued, alone = True, False, False
        for c in comments:
            if c.newlines or (previous < 0 and first):
                blank = is_item_end if first or is_item_end else c.newlines > 1
                if not is_item_end and not opens and not (after_version and first):
                    blank = c.newlines > 1
                self._end_line(indent, blank and (not opens or not first))
                is_item_end = False
                alone = True
                glued = not c.ends_line
                separator = "\n" if c.ends_line else " "
            else:
                self.out.append("" if opens and first and separator == "" and not c.is_line else " ")
                if c.is_line:
                    separator = "\n"
                elif separator == "":
                    tight = n < len(self.words) and self.words[n][0] in _TIGHT_BEFORE
                    separator = "" if tight else " "
            self.out.append(c.text)
            first = False
        if n == len(self.words) or separator != "\n":
            self.out.append("" if n == len(self.words) else separator)
            return
        if glued and not comments[-1].is_line:
            self.out.append(" ")
            return
        blank = newlines > 1 and not (opens and not alone) and not closes and not (after_version and first)
        broken = closes and self.open and self.open[-1].broken
        self._end_line(self._outer_indent() if broken else indent, blank or is_item_end)

    def _end_line(self, indent: int, blank: bool) -> None:
        if self.out:
            self.out.append("\n\n" if blank else "\n")
        self.out.append(" " * indent)

    def _separator(self, previous: int, n: int) -> str:
        """The text between two words without comments: nothing, a blank, or the end of a line."""
        if previous < 0:
            return ""
        before, after = self.words[previous], self.words[n]
        inside = self.open[-1] if self.open else None
        if before[0] in ("VERSION", "LENGTHS") or before[2] + len(before[1]) in self.outline.items:
            return "\n"
        if inside is not None and inside.broken and (inside.at == previous or inside.end == n):
            return "\n"
        if previous in self.ending:
            return "\n"
        if inside is not None and inside.broken and before[0] == "COMMA":
            return "\n"
        return " " if self._is_spaced(before, after, previous, n) else ""

    def _is_spaced(self, before: Word, after: Word, previous: int, n: int) -> bool:
        """True if a blank stands between two words of a line."""
        o, left, right = self.outline, before[0], after[0]
        if after[2] in o.infixes or before[2] in o.infixes:
            return True
        if right in _TIGHT_BEFORE or left in _TIGHT_AFTER or left == "MINUS":
            return False
        if right == "EQUAL" or left == "EQUAL":
            return self._is_binder(n if right == "EQUAL" else previous)
        if right in ("LPAREN", "LSQUARE"):
            return left not in _APPLIED
        return left not in ("LBRACE", "LESS") and right not in ("LESS", "GREATER")

    def _is_binder(self, n: int) -> bool:
        """True for the `=` of a binding, not of an attribute."""
        return self.words[n][2] in self.outline.binders or (n > 0 and self.words[n - 1][2] in self.outline.binders)
