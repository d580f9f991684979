"""Offsets in a text as lines and columns, in the units that a client counts in."""

from __future__ import annotations

import re
from bisect import bisect_right

_END = re.compile(r"\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Lines:
    """The lines of a text, numbered from 0; they end as the protocol says. `encoding` is `utf-8`, `utf-16` or `utf-32`: whose units
    a column counts."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._starts = [0, *(m.end() for m in _END.finditer(text))]
        self._codec, self._width = _UNITS[encoding]
        self._plain = text.isascii()

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character; of the end of the text for offsets beyond it."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """The character at a line and column, clamped to the end of the line, or of the text."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        inside = self.text[start:end].rstrip("\r\n")
        if self._plain:
            return start + min(column, len(inside))
        units = 0
        for position, sign in enumerate(inside):
            if units >= column:
                return start + position
            units += self._units(sign)
        return start + len(inside)

    def _units(self, text: str) -> int:
        return len(text) if self._plain else len(text.encode(self._codec, "surrogatepass")) // self._width
