"""Extents that only a run knows: lengths, which a line at the top declares, and formulas of them."""

from __future__ import annotations

import re
from typing import Any

from ...symbolic_int import SymbolicInt, Undecided, declared, extent_of
from ...symbolic_int import minimum as smaller_extent
from ..mistakes import MalformedLengths, MalformedType
from .leaves import Leaves

_LINE = re.compile(r"#\[\s*lengths\s*=\s*\"([^\"]*)\"\s*\]")


class Extents(Leaves):
    """Builds extents. The text of a formula is that of C, with blanks around the operators: `2 * n + 1`, `(n < 4 ? n : 4)`."""

    def lengths(self, v: list, s: int, e: int) -> None:
        match = _LINE.fullmatch(v[0])
        if match is None:
            self.error("lengths are declared in a string", s, e, help=_EXAMPLE, code=MalformedLengths)
            return
        for text in filter(None, (part.strip() for part in match[1].split(","))):
            symbol = declared(text)
            if symbol is None:
                self.error(f"{text} declares no length", s, e, help=_EXAMPLE, code=MalformedLengths)
            elif symbol.name in self.length_names:
                self.error(f"the length {symbol.name} is declared twice", s, e, code=MalformedLengths)
            else:
                self.length_names[symbol.name] = extent_of(symbol)

    def add_extents(self, v: list, s: int, e: int) -> Any:
        return self._formula(v[0], v[2], lambda a, b: a + b, s, e)

    def subtract_extents(self, v: list, s: int, e: int) -> Any:
        return self._formula(v[0], v[2], lambda a, b: a - b, s, e)

    def multiply_extents(self, v: list, s: int, e: int) -> Any:
        return self._formula(v[0], v[2], lambda a, b: a * b, s, e)

    def divide_extents(self, v: list, s: int, e: int) -> Any:
        return self._formula(v[0], v[2], lambda a, b: a // b, s, e)

    def minimum_extent(self, v: list, s: int, e: int) -> Any:
        _, a, _, b, _, first, _, second, _ = v
        if (a is not first and a != first) or (b is not second and b != second):
            self.error("a choice of extents is that of the smaller one: (a < b ? a : b)", s, e, code=MalformedType)
            return a
        return self._formula(a, b, smaller_extent, s, e)

    def negative_length(self, v: list, s: int, e: int) -> Any:
        extent = self.length_names.get(v[1])
        if extent is None:
            self.error(f"{v[1]} is not a length", s, e, help=_EXAMPLE, code=MalformedType)
            return 1
        return -extent

    def negative_extent(self, v: list, s: int, e: int) -> Any:
        return self._formula(0, v[2], lambda a, b: a - b, s, e)

    def negative_minimum(self, v: list, s: int, e: int) -> Any:
        return self._formula(0, self.minimum_extent(v[1:], s, e), lambda a, b: a - b, s, e)

    def _formula(self, a: Any, b: Any, operation: Any, s: int, e: int) -> Any:
        """The result of an operation on two extents, one of them a formula, or a number that a formula has."""
        for x in (a, b):
            if not isinstance(x, int) or isinstance(x, bool):
                text = self.source.text[s:e][:40]
                self.error(
                    f"{text} is no formula of lengths and whole numbers", s, e, help=_EXAMPLE, code=MalformedType
                )
                return 1
        try:
            return operation(a, b)
        except (Undecided, ZeroDivisionError):
            self.error(f"{self.source.text[s:e][:40]} has no value for some lengths", s, e, code=MalformedType)
            return 1

    def length(self, name: str) -> SymbolicInt | None:
        """The length of that name, if there is one."""
        return self.length_names.get(name)


_EXAMPLE = '#[lengths = "1<=seq<=512, batch=1|4|8"] declares lengths'
