"""Strings of C from any text."""

from __future__ import annotations

_PLAIN = frozenset(map(chr, range(32, 127))) - frozenset('"\\?')


def string_content(text: str) -> str:
    """The text in UTF-8 as it stands within the quotes of a string of C, with quotes, backslashes and other bytes in octal."""
    return "".join(chr(b) if chr(b) in _PLAIN else f"\\{b:03o}" for b in text.encode("utf-8", "replace"))
