"""Docstrings as manuals: their blocks of code for a terminal, and for Markdown."""

from __future__ import annotations

import re
import shutil
import textwrap
from itertools import groupby

from .tables import is_terminal

_BLOCK = re.compile(
    r"^(?P<before>[^\n]*?)::[ ]*\n(?P<gap>\s*\n)?(?P<code>(?:[ ]{4,}[^\n]*(?:\n|$)|[ ]*\n)+)", re.MULTILINE
)


def for_terminal(manual: str) -> str:
    """A docstring without the `::` that announce its blocks of code; these stay indented.

    On a terminal that is too narrow for its lines, its paragraphs are wrapped; indented lines are not.
    """
    text = _replace(manual, lambda code: code)
    return wrap(text, shutil.get_terminal_size().columns) if is_terminal() else text


def wrap(text: str, width: int) -> str:
    """Paragraphs with lines of at most `width`; indented text and paragraphs of shorter lines stay unchanged."""
    lines: list[str] = []
    for is_prose, block in groupby(text.split("\n"), lambda line: line[:1].strip() != ""):
        part = list(block)
        if is_prose and max(map(len, part)) > width:
            part = textwrap.wrap(" ".join(part), width, break_long_words=False, break_on_hyphens=False)
        lines += part
    return "\n".join(lines)


def for_markdown(manual: str) -> str:
    """A docstring with its blocks of code between fences."""
    return _replace(manual, lambda code: "```\n" + re.sub(r"^ {4}", "", code, flags=re.MULTILINE) + "\n```")


def _replace(manual: str, write) -> str:
    def block(m: re.Match[str]) -> str:
        before = m["before"].rstrip()
        code = m["code"].rstrip()
        head = f"{before.removesuffix(':')}:\n\n" if before else ""
        return f"{head}{write(code)}\n" + ("\n" if m.end() < len(manual) else "")

    return _BLOCK.sub(block, manual).rstrip()
