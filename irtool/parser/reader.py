"""Drives the tables of the grammar over the words of a text, and goes on after an error where that is sound.

After an error the reader looks for the end of the statement (`;`), of the block (`}`) or for the next definition, takes the
part in between as if it had been right, and reads on: each mistake is reported once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostics import Span, nearest
from ..ir import Var
from .builder import Builder
from .habits import habit
from .lexer import Word
from .mistakes import UnexpectedWord
from .tables import STARTS, Tables

_DEFINITION = frozenset(("DEF", "TYPE", "EXTERN"))
_STATEMENT = frozenset(
    ("GRAPH", "LOCAL", "LET", "NAME", "PLAIN_CALL", "IF", "MATCH", "FN", "LPAREN", "GLOBAL", "META", "FREE_VAR")
)
_OPENING = frozenset(("LPAREN", "LSQUARE", "LBRACE"))
_CLOSING = frozenset(("RPAREN", "RSQUARE", "RBRACE"))
_SHOWN = {
    "ARROW": "`->`",
    "FAT_ARROW": "`=>`",
    "EQUAL": "`=`",
    "LPAREN": "`(`",
    "RPAREN": "`)`",
    "LSQUARE": "`[`",
    "RSQUARE": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "SEMICOLON": "`;`",
    "GREATER": "`>`",
    "NAME": "a name",
    "LOCAL": "a variable like `%x`",
    "GLOBAL": "a function's name like `@main`",
    "NUMBER": "a number",
    "STRING": "a string",
    "ELSE": "`else`",
    "TYPE": "`type`",
    "DEF": "`def`",
    "$END": "the end of the text",
}


class Reader:
    """One run of the tables: a stack of states, and beside it the values that the builder made and where they start."""

    def __init__(self, tables: Tables, builder: Builder, start: str, lines_bind: bool = False) -> None:
        self.tables = tables
        self.builder = builder
        self.lines_bind = lines_bind
        """True for the dialect in which the end of a line ends a binding."""
        self.states = [tables.starts[start]]
        self.values: list[Any] = []
        self.starts: list[int] = []
        self.end = 0
        """Where the last word that was taken ends."""

    def run(self, words: Iterator[Word]) -> None:
        """Reads all words. What comes of them is the builder's `result`; errors are in the builder's `diagnostics`."""
        actions = self.tables.actions
        builder = self.builder
        rules = [(symbol, n, getattr(builder, name) if name else None) for symbol, n, name in self.tables.rules]
        after, goto = self.tables.after, self.tables.goto
        states, values, starts = self.states, self.values, self.starts
        state, end = states[-1], 0
        for kind, text, offset in words:
            waiting: Word | None = None
            while True:
                action = actions[state].get(kind)
                if action is None:
                    if kind == "$END" and self.tables.accessing[state] in STARTS:
                        return
                    if waiting is None and self._ends_line(state, end, offset):
                        waiting = (kind, text, offset)
                        kind, text, offset = "SEMICOLON", "", end
                        continue
                    self.end = end
                    next_word = self._recover((kind, text, offset) if waiting is None else waiting, words)
                    if next_word is None:
                        return
                    state, waiting = states[-1], None
                    kind, text, offset = next_word
                    if kind:
                        continue
                    end = offset
                    break
                if action >= 0:
                    states.append(action)
                    values.append(text)
                    starts.append(offset)
                    state = action
                    end = offset + len(text)
                    if waiting is None:
                        break
                    kind, text, offset = waiting
                    waiting = None
                    continue
                symbol, count, method = rules[~action]
                if count == 1:
                    if method is not None:
                        values[-1] = method(values[-1:], starts[-1], end)
                    below = states[-2]
                    state = states[-1] = after.get((below, symbol, kind)) or goto(below, symbol, kind)
                elif count:
                    start = starts[-count]
                    reduced = method(values[-count:], start, end)  # type: ignore[misc]  # methods of rules take the values of their words and parts
                    count -= 1
                    if count:
                        del values[-count:], states[-count:], starts[-count:]
                    values[-1] = reduced
                    below = states[-2]
                    state = states[-1] = after.get((below, symbol, kind)) or goto(below, symbol, kind)
                else:
                    values.append(method([], offset, offset))  # type: ignore[misc]  # methods of rules take the values of their words and parts
                    starts.append(offset)
                    state = after.get((state, symbol, kind)) or goto(state, symbol, kind)
                    states.append(state)

    def _ends_line(self, state: int, end: int, offset: int) -> bool:
        """True where a binding may end and a line does, in the dialect that needs no `;`."""
        return (
            self.lines_bind
            and "SEMICOLON" in self.tables.actions[state]
            and "\n" in self.builder.source.text[end:offset]
        )

    # ---- after an error

    def _recover(self, word: Word, words: Iterator[Word]) -> Word | None:
        """Reports `word` and finds where to go on.

        Returns the word to go on with; one without kind if the words up to and including its offset are dealt with; or None
        if no word is left.
        """
        self._reduce_what_is_complete()
        self._report(word)
        if self._needs_semicolon() and word[0] in _STATEMENT and "\n" in self.builder.source.text[self.end : word[2]]:
            self._shift("SEMICOLON", "", self.end)
            return word
        self.builder.unwinding = False
        depth, limit = 0, len(self.states)
        kind, text, offset = word
        while kind != "$END":
            if kind in _DEFINITION and self._starts_line(offset) and self._cut_to_definitions():
                return kind, text, offset
            if kind in _OPENING:
                depth += 1
            elif depth and kind in _CLOSING:
                depth -= 1
            elif not depth and kind in ("SEMICOLON", "RBRACE"):
                block = self._innermost_block(limit)
                if kind == "RBRACE" and block == 0:
                    pass  # it closes nothing, and would not be taken
                elif kind == "RBRACE" and block > 0 and "result" not in self.tables.actions[self.states[block]]:
                    limit = block
                elif block >= 0 and "result" in self.tables.actions[self.states[block]]:
                    self._cut(block)
                    if kind == "RBRACE":
                        self._shift("result", Var("", None), offset)
                        return kind, text, offset
                    self._shift("statement", None, offset)
                    return "", "", offset + 1
            kind, text, offset = next(words, ("$END", "", offset))
        return None

    def _reduce_what_is_complete(self) -> None:
        """Reduces as far as possible without the word that does not fit, so that the missing part shows."""
        while not self._needs_semicolon():
            row = self.tables.actions[self.states[-1]]
            rules = {a for symbol, a in row.items() if a < 0}
            if len(rules) != 1:
                return
            symbol, count, name = self.tables.rules[~rules.pop()]
            if not count or symbol in STARTS:
                return
            if name or count > 1:
                start = self.starts[-count]
                reduced = getattr(self.builder, name)(self.values[-count:], start, self.end)
                del self.values[-count:], self.starts[-count:]
                self.values.append(reduced)
                self.starts.append(start)
            del self.states[-count:]
            self.states.append(self.tables.actions[self.states[-1]][symbol])

    def _needs_semicolon(self) -> bool:
        return self.tables.actions[self.states[-1]].get("SEMICOLON", -1) >= 0

    def _starts_line(self, offset: int) -> bool:
        text = self.builder.source.text
        return not text[text.rfind("\n", 0, offset) + 1 : offset].strip()

    def _innermost_block(self, limit: int) -> int:
        """The place below `limit` on the stack of the innermost open `{`, or of the start; -1 for an empty stack."""
        accessing = self.tables.accessing
        for i in range(limit - 1, 0, -1):
            if accessing[self.states[i]] == "LBRACE":
                return i
        return 0 if limit > 0 else -1

    def _cut(self, block: int) -> None:
        """Takes everything after the finished statements of the block at that place off the stack."""
        keep = block + 1
        if keep < len(self.states) and self.tables.accessing[self.states[keep]] == "statements":
            keep += 1
        for state, value in zip(self.states[keep:], self.values[keep - 1 :], strict=True):
            if self.tables.accessing[state] == "GRAPH":
                # bound to an unknown value: its uses are no mistakes
                self.builder.graph_values.setdefault(value, Var(value[1:]))
        del self.states[keep:], self.values[keep - 1 :], self.starts[keep - 1 :]

    def _cut_to_definitions(self) -> bool:
        """Takes everything after the finished definitions off the stack."""
        for keep in (2, 3, 1):
            if keep <= len(self.states) and "item" in self.tables.actions[self.states[keep - 1]]:
                if keep < 3 and keep < len(self.states) and self.tables.accessing[self.states[keep]] == "items":
                    keep += 1
                del self.states[keep:], self.values[keep - 1 :], self.starts[keep - 1 :]
                self.builder.forget_scopes()
                return True
        return False

    def _shift(self, symbol: str, value: Any, offset: int) -> None:
        self.states.append(self.tables.actions[self.states[-1]][symbol])
        self.values.append(value)
        self.starts.append(offset)

    # ---- messages

    def _report(self, word: Word) -> None:
        kind, text, offset = word
        builder, end = self.builder, self.end
        row = self.tables.actions[self.states[-1]]
        here = Span(builder.source, offset, offset + max(len(text), 1))
        behind = Span(builder.source, max(end - 1, 0), max(end, 1))
        shown = "the end of the text" if kind == "$END" else f"`{text if len(text) <= 40 else text[:37] + '...'}`"
        bracket, opened = self._open_bracket()
        notes: tuple[str, ...] = ()
        if kind == "$END" and bracket:
            where = Span(builder.source, opened, opened + 1)
            notes = (f"{_SHOWN[bracket]} at {where.location} is not closed",)
        if self._needs_semicolon():
            what = "binding" if self._in_binding() else "expression"
            ends = {"binding": "`;`", "expression": "`;` or `}`" if bracket else "`;` or the end of the text"}
            expected = ends[what] if bracket in ("", "LBRACE") else "`,` or `)`"
            place = behind if end else here
            message = f"expected {expected} after this {what}, found {shown}"
            help = habit(builder.source.text, offset, text)
            builder.error(message, place.start, place.end, notes=notes, help=help, code=UnexpectedWord)
            return
        if "NUMBER" in row and "LPAREN" in row and "MATCH" in row:
            expected = "an expression"
        elif "TENSOR_TYPE" in row:
            expected = "a type"
        elif bracket == "LPAREN" and "COMMA" in row and "RPAREN" in row:
            expected = "`,` or `)`"
        else:
            names = [_SHOWN[k] for k in row if k in _SHOWN]
            expected = (
                " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) if len(names) <= 5 else ""
            )
        message = f"expected {expected}, found {shown}" if expected else f"{shown} cannot stand here"
        builder.error(message, here.start, here.end, notes=notes, help=self._hint(word), code=UnexpectedWord)

    def _open_bracket(self) -> tuple[str, int]:
        """The innermost open bracket, and where it is."""
        accessing = self.tables.accessing
        for i in range(len(self.states) - 1, 0, -1):
            if accessing[self.states[i]] in _OPENING:
                return accessing[self.states[i]], self.starts[i - 1]
        return "", 0

    def _in_binding(self) -> bool:
        """True if the statement being read is `%0 = …` or `let …`."""
        accessing = self.tables.accessing
        for i in range(len(self.states) - 1, 0, -1):
            symbol = accessing[self.states[i]]
            if symbol in _OPENING or symbol == "statements":
                return False
            if symbol in ("let_head", "EQUAL"):
                return True
        return False

    def _hint(self, word: Word) -> str:
        kind, text, _ = word
        before = self.values[-1] if self.values else None
        if kind == "NAME" and before == "let":
            return f"a local variable is written %{text}"
        if kind == "GLOBAL" and before == "let":
            return f"a local variable is written %{text[1:]}"
        if kind == "NAME" and before == "def":
            return f"a function's name is written @{text}"
        if kind == "LOCAL" and before == "def":
            return f"a function's name is written @{text[1:]}"
        accessing = self.tables.accessing
        for i in range(len(self.states) - 1, 1, -1):
            if accessing[self.states[i]] == "LSQUARE" and accessing[self.states[i - 1]] == "NAME":
                if resembling := nearest(self.values[i - 2], ["Tensor"]):
                    return resembling
                break
        return habit(self.builder.source.text, word[2], text)
