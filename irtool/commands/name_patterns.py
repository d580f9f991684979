"""Names on the command line that stand for several: `conv`, `nn.*`, `Fuse*`."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase


def is_like(name: str, pattern: str) -> bool:
    """True if a name has the form of a pattern with `*`, `?` or `[…]`, or, of a pattern without these, if it holds that text; whichever
    case the letters have."""
    name, pattern = name.lower(), pattern.lower()
    return fnmatchcase(name, pattern) if _is_form(pattern) else pattern in name


def stands_for_several(text: str, names: Collection[str]) -> bool:
    """True if a text is not one of the names, but some are like it."""
    return text not in names and any(is_like(n, text) for n in names)


def _is_form(pattern: str) -> bool:
    return any(c in pattern for c in "*?[")
