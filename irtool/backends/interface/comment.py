"""Comments of C."""

from __future__ import annotations

from collections.abc import Sequence

from ...visible import visible


def inside(text: str) -> str:
    """Text that a comment of C or of LLVM IR may contain: no end of the comment, no control characters, one line."""
    return visible(text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ").replace("\t", " "))


def comment(lines: Sequence[str]) -> list[str]:
    """A C comment of these lines, which may have any characters."""
    safe = [inside(t) for t in lines]
    return ["/*", *(f" * {t}".rstrip() for t in safe), " */"]
