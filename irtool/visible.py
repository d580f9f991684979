"""Text of unknown origin as a terminal, or a comment, may show it: control characters and overrides of direction become their numbers."""

from __future__ import annotations

import re

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
"""All of C0 but tabs and line ends, all of C1 (one of them begins escape sequences), Unicode's line ends, and what changes the direction of
text: with these, a name could move the cursor, set the title of a window, or make code look like another."""


def visible(text: str) -> str:
    r"""The text with `\x1b` for an escape, `\u202e` for a right-to-left override, and so on; itself without any."""
    return _HIDDEN.sub(_number, text)


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
