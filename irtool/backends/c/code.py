"""Statements of C: lines and blocks, kept as objects until they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Directive(str):
    """A line of the preprocessor, which begins at the margin."""


class CompoundStatement:
    """`head {`, statements, and `}`; a block without a head is there for its declarations.

    A branch has two parts: `heads` are what stands before each of them.
    """

    def __init__(self, head: str = "") -> None:
        self.heads = [head]
        self.parts: list[list[str | CompoundStatement]] = [[]]

    @property
    def is_bare(self) -> bool:
        """True if it has no head."""
        return self.heads == [""]

    def add(self, item: str | CompoundStatement) -> None:
        """One more statement at its end."""
        self.parts[-1].append(item)

    def begin(self, head: str) -> None:
        """Another part, behind the last one: `} else {`."""
        self.heads.append(head)
        self.parts.append([])


class CodeBuilder:
    """Statements that are being written, into the innermost block that is open."""

    def __init__(self) -> None:
        self.items: list[str | CompoundStatement] = []
        self._open: list[CompoundStatement] = []

    def line(self, text: str) -> None:
        """A statement or a directive."""
        if self._open:
            self._open[-1].add(text)
        else:
            self.items.append(text)

    def lines(self, texts: Iterable[str]) -> None:
        """Several."""
        for text in texts:
            self.line(text)

    def open(self, head: str = "") -> None:
        """Begins a block: the next lines are in it."""
        block = CompoundStatement(head)
        if self._open:
            self._open[-1].add(block)
        else:
            self.items.append(block)
        self._open.append(block)

    def part(self, head: str) -> None:
        """Ends a part of the block and begins another one: `else`."""
        self._open[-1].begin(head)

    def close(self) -> None:
        """Ends the block."""
        self._open.pop()


def print_code(items: list[str | CompoundStatement], depth: int = 1) -> list[str]:
    """The lines of statements that are in a function; a bare block that is all there is in another one is not told apart from it."""
    lines: list[str] = []
    stack: list[Any] = [(item, depth) for item in reversed(_unwrapped(items))]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            lines.append(item if isinstance(item, Directive) else "  " * depth + item)
            continue
        end: list[tuple[str | CompoundStatement, int]] = [("}", depth)]
        for n in range(len(item.parts) - 1, -1, -1):
            inside = [(x, depth + 1) for x in reversed(_unwrapped(item.parts[n]))]
            head = f"{item.heads[n]} {{" if item.heads[n] else "{"
            end = [*end, *inside, (head if n == 0 else f"}} {head}", depth)]
        stack += end
    return lines


def _unwrapped(items: list[str | CompoundStatement]) -> list[str | CompoundStatement]:
    """The statements, without a bare block around all of them."""
    while len(items) == 1 and isinstance(items[0], CompoundStatement) and items[0].is_bare:
        items = items[0].parts[0]
    return items
