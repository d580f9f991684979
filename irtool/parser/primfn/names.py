"""Names of a text before the printer made them unique.

The printer writes the second `ax1` of a text as `ax1_1`. Reading counts as printing does, and takes a number off again that
printing would put there; so a nest that was changed prints with the names that it had.
"""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"(.+)_(\d+)")


class TakenNames:
    """The names that a text has used so far, counted as `LoopNestPrinter` counts them."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def hint(self, name: str) -> str:
        """The name that the printer was asked for when it wrote `name`, which is taken from now on."""
        result = name
        numbered = _NUMBERED.fullmatch(name)
        if numbered is not None and numbered[1] in self._taken and self._next(numbered[1]) == name:
            result = numbered[1]
            self._taken[result] = int(numbered[2])
        self._taken.setdefault(name, 0)
        return result

    def _next(self, stem: str) -> str:
        count = self._taken[stem]
        name = stem
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        return name
