"""Comments of C."""

from __future__ import annotations

from collections.abc import Sequence


def comment(lines: Sequence[str]) -> list[str]:
    """A C comment of these lines, whatever is in them."""
    safe = [t.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ") for t in lines]
    return ["/*", *(f" * {t}".rstrip() for t in safe), " */"]
