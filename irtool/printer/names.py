"""Names of variables in text: unique in the whole text, and readable again.

TVM takes the variable's own name (a letter put in front where it starts with none) and counts up where it is taken.
A free variable keeps a name that begins with `_`. Two kinds of names are changed further, since text could not be read back otherwise: characters that no name may hold
become `_`, and `a.0` is not used beside a variable `a`, whose field 0 is written the same.
"""

from __future__ import annotations

import re

_UNREADABLE = re.compile(r"[^A-Za-z0-9_./:+\-]|[./:+\-]+(?![A-Za-z0-9_./:+\-])")
_UNPORTABLE = re.compile(r"[^A-Za-z0-9_]")
_FIELD = re.compile(r"\.\d+(?=\.|$)")


class Names:
    """Hands out names. `portable` allows letters, digits and `_` only."""

    def __init__(self, portable: bool = False) -> None:
        self._taken: dict[str, int] = {}
        self._prefixes: set[str] = set()
        self._unsafe = _UNPORTABLE if portable else _UNREADABLE

    def unique(self, hint: str, plain: bool = False, free: bool = False) -> str:
        """A name like `hint` that was not given out yet; starts with a letter. `plain` allows letters, digits and `_`.

        A `free` variable is known by its name alone, which stays as it is where it begins with `_`.
        """
        name = hint
        if not name or not ((name[0].isalpha() and name[0].isascii()) or (free and name[0] == "_")):
            name = "v" + name
        if not name.isidentifier() or not name.isascii():
            name = (_UNPORTABLE if plain else self._unsafe).sub("_", name)
            if "." in name and self._clashes(name):
                name = name.replace(".", "_")
        if self._prefixes and name in self._prefixes:
            self._taken.setdefault(name, 0)
        taken = self._taken
        count = taken.get(name)
        if count is not None:
            stem = name
            while name in taken:
                count += 1
                name = f"{stem}{count}"
            taken[stem] = count
        taken[name] = 0
        return name

    def _clashes(self, name: str) -> bool:
        """True if a prefix of `name` is a variable, so that `name` reads as a field of it; notes the prefixes if not."""
        prefixes = [name[: m.start()] for m in _FIELD.finditer(name)]
        if any(p in self._taken for p in prefixes):
            return True
        self._prefixes.update(prefixes)
        return False
