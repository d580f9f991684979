"""Comments of C."""

from __future__ import annotations

from collections.abc import Sequence

from ...visible import visible


def inside(text: str) -> str:
    """Text that a comment, of C or of LLVM IR, may hold: no end of it, no control characters, one line."""
    return visible(text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ").replace("\t", " "))


def comment(lines: Sequence[str]) -> list[str]:
    """A C comment of these lines, with any characters in them."""
    safe = [inside(t) for t in lines]
    return ["/*", *(f" * {t}".rstrip() for t in safe), " */"]
