"""Docstrings as manuals: their blocks of code for a terminal, and for Markdown."""

from __future__ import annotations

import re

_BLOCK = re.compile(
    r"^(?P<before>[^\n]*?)::[ ]*\n(?P<gap>\s*\n)?(?P<code>(?:[ ]{4,}[^\n]*(?:\n|$)|[ ]*\n)+)", re.MULTILINE
)


def for_terminal(manual: str) -> str:
    """A docstring without the `::` that announce its blocks of code; these stay indented."""
    return _replace(manual, lambda code: code)


def for_markdown(manual: str) -> str:
    """A docstring with its blocks of code between fences."""
    return _replace(manual, lambda code: "```\n" + re.sub(r"^ {4}", "", code, flags=re.MULTILINE) + "\n```")


def _replace(manual: str, write) -> str:  # type: ignore[no-untyped-def]
    def block(m: re.Match[str]) -> str:
        before = m["before"].rstrip()
        code = m["code"].rstrip()
        head = f"{before.removesuffix(':')}:\n\n" if before else ""
        return f"{head}{write(code)}\n" + ("\n" if m.end() < len(manual) else "")

    return _BLOCK.sub(block, manual).rstrip()
