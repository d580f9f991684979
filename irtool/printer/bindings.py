"""Nodes of an expression that are printed in place, nodes that are bound to numbers, and the positions of the binding lines."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..ir import Constant, Constructor, Expr, GlobalVar, Op, Var
from ..ir.expr import CHILDREN_OF
from .brevity import deeper

Text = Any
"""A string, or a list of texts; joined once at the end. The blanks that start a line follow its `\\n` in one string."""


class Deeper(NamedTuple):
    """A text whose lines after the first start so many columns further in."""

    columns: int
    text: Text


IN_PLACE = (Var, GlobalVar, Constant, Op, Constructor)
"""What is never bound: it stands wherever it is used."""


class Bindings:
    """The state of printing one function or expression. Numbers run on from one to the next.

    Attributes:
        memo: the text of each node that was visited: its own, and its number once it is bound.
        uses: how many edges lead to each node.
        lines: the lines of the current scope.
        free: declarations of variables that were met without a binder and are still to be written.
        commented: classes of the nodes that get a comment.
    """

    commented: tuple[type, ...] = ()

    def __init__(self) -> None:
        self.numbers = 0
        self.begin({})

    def begin(self, uses: dict[Expr, int]) -> None:
        """Starts on another function or expression."""
        self.uses = uses
        self.memo: dict[Expr, Text] = {}
        self.lines: list[Text] = []
        self.free: dict[Var, str] = {}
        self._bound: set[Expr] = set()
        self._home: dict[Expr, Expr] = {}
        self._open: list[Expr] = []
        self._waiting: dict[Expr, tuple[list[Text], int, list[Expr]]] = {}

    def comment(self, e: Expr) -> str:
        """The comment behind a node."""
        raise NotImplementedError

    def enter(self, e: Expr) -> None:
        """Nodes bound from here to `leave` are bound inside of `e`."""
        self._open.append(e)

    def leave(self, e: Expr, indent: int, waits: bool) -> None:
        """The text of `e` is complete. `waits` says that its place comes later, on a line of the current scope."""
        self._open.pop()
        if waits:
            self._waiting[e] = (self.lines, indent, self._open[-1:])

    def stands_in_place(self, e: Expr) -> bool:
        """True if `e` at the end of a scope is written there rather than bound."""
        return e.__class__ in IN_PLACE or self.uses.get(e, 0) <= 1

    def place(self, e: Expr, end: bool, indent: int) -> Text:
        """The text at a use of `e`, now that its own text is in the memo; binds it first if it has to be.

        `end` says that this is the end of a scope; `indent` is where new lines of the current scope start.
        """
        text = self.memo[e]
        cls = e.__class__
        if cls in IN_PLACE:
            if cls is Var and e in self.free:
                self.lines.append(f"free_var {self.free.pop(e)};\n{' ' * indent}")
            return text
        if e in self._bound:
            return text
        self._bound.add(e)
        if e in self._waiting and self._waiting[e][1] != indent:  # visited in one scope, used in another inside of it
            self.memo[e] = text = Deeper(indent - self._waiting[e][1], text)
        self._settle(e)
        comment = self.comment(e) if cls in self.commented else ""
        if end and self.uses.get(e, 0) <= 1:
            self.memo[e] = text = _with(text, comment)
            return text
        number = f"%{self.numbers}"
        self.numbers += 1
        self.memo[e] = number
        if text.__class__ is str:
            self.lines.append(f"{number} = {text}{comment};\n{' ' * indent}")
        else:
            self.lines.append([f"{number} = ", text, f"{comment};\n{' ' * indent}"])
        return number

    def _settle(self, e: Expr) -> None:
        """Before `e` gets its line: binds the nodes around the lines of the nodes that `e` uses.

        A node that was bound inside a branch or a body may be used outside of it, too. What has that branch or body waits
        in the memo until its user is written, and `e` may come before that user.
        """
        self._waiting.pop(e, None)
        if self._open:
            self._home[e] = self._open[-1]
        if self._waiting:
            for k in CHILDREN_OF[e.__class__](e):
                enclosing = self._home.get(k)
                while enclosing is not None:
                    if enclosing in self._waiting:
                        lines, indent, opened = self._waiting[enclosing]
                        current, self.lines = self.lines, lines
                        opened, self._open = self._open, opened
                        self.place(enclosing, False, indent)
                        self.lines, self._open = current, opened
                    enclosing = self._home.get(enclosing)


def count_uses(root: Expr) -> dict[Expr, int]:
    """The number of edges to each node below `root`; none lead to `root`."""
    counts = {root: 0}
    stack = [root]
    while stack:
        e = stack.pop()
        for k in CHILDREN_OF[e.__class__](e):
            if k in counts:
                counts[k] += 1
            else:
                counts[k] = 1
                if k.__class__ not in IN_PLACE:
                    stack.append(k)
    return counts


def _with(text: Text, comment: str) -> Text:
    if not comment:
        return text
    return text + comment if text.__class__ is str else [text, comment]


def joined(text: Text) -> str:
    """The strings of nested lists, in order."""
    out: list[str] = []
    stack: list[Any] = [text]
    columns = [0]
    while stack:
        t = stack.pop()
        if t.__class__ is str:
            out.append(_moved(t, columns[-1]) if columns[-1] and "\n" in t else t)
        elif t is None:
            columns.pop()
        elif t.__class__ is Deeper:
            columns.append(columns[-1] + t.columns)
            stack += [None, t.text]
        else:
            stack.extend(t[::-1])
    return "".join(out)


def _moved(text: str, columns: int) -> str:
    return re.sub("\n *", lambda m: "\n" + " " * deeper(len(m[0]) - 1, columns), text)
