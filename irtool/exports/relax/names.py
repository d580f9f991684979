"""Names that Python takes, each given once."""

from __future__ import annotations

import keyword
import re

OUTSIDE = ("I", "R", "T", "np", "Path", "Module", "cls", "_constants")
"""What the file itself calls by these names."""


class ScriptNames:
    """Names of one scope. `taken` are those that nothing else may have."""

    def __init__(self, taken: tuple[str, ...] = OUTSIDE) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """`hint` as an identifier; with a number where that is taken, a keyword, or a name with a meaning of its own."""
        stem = identifier(hint)
        name = stem
        while name in self._taken or keyword.iskeyword(name) or keyword.issoftkeyword(name):
            count = self._counts.get(stem, 0) + 1
            self._counts[stem] = count
            name = f"{stem}_{count}" if stem[-1].isdigit() else f"{stem}{count}"
        self._taken.add(name)
        return name


def identifier(hint: str) -> str:
    """The nearest to `hint` that is letters, digits and underscores, the first of them no digit."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", hint) or "v"
    return f"v{name}" if name[0].isdigit() else name
