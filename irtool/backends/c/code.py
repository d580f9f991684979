"""Statements of C: lines and blocks, as objects until they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Directive(str):
    """A line of the preprocessor, which begins at the margin."""


class CompoundStatement:
    """`head {`, statements, and `}`; a block without a head is for its declarations.

    A branch has two parts: `heads` are the lines before each of them.
    """

    def __init__(self, head: str = "") -> None:
        self.heads = [head]
        self.parts: list[list[str | CompoundStatement]] = [[]]

    @property
    def is_bare(self) -> bool:
        """True if it has no head."""
        return self.heads == [""]

    def add(self, item: str | CompoundStatement) -> None:
        """Adds a statement at its end."""
        self.parts[-1].append(item)

    def begin(self, head: str) -> None:
        """Begins another part, such as `} else {`."""
        self.heads.append(head)
        self.parts.append([])


class CodeBuilder:
    """Writes statements into the innermost open block."""

    def __init__(self) -> None:
        self.items: list[str | CompoundStatement] = []
        self._open: list[CompoundStatement] = []

    def line(self, text: str) -> None:
        """Adds a statement or a directive."""
        if self._open:
            self._open[-1].add(text)
        else:
            self.items.append(text)

    def lines(self, texts: Iterable[str]) -> None:
        """Adds several statements."""
        for text in texts:
            self.line(text)

    def open(self, head: str = "") -> None:
        """Begins a block, which gets the next lines."""
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
    """The lines of statements in a function; a bare block that is the only statement of another block is merged into it."""
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
