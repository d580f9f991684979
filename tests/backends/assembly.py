"""The loops of assembly text, and how often an instruction stands in one."""

from __future__ import annotations

import re
from collections.abc import Iterator


def loops(assembly: str) -> Iterator[list[str]]:
    """The instructions between each label and the jump back to it: innermost loops."""
    begun: dict[str, int] = {}
    lines = [line.split("#")[0].strip() for line in assembly.splitlines()]
    for n, line in enumerate(lines):
        label = re.fullmatch(r"(\.L\w+):", line)
        if label:
            begun[label[1]] = n
            continue
        jump = re.match(r"(?:j\w+|b\.?\w*|cbn?z|tbn?z)\s.*?(\.L\w+)$", line)
        if jump and jump[1] in begun:
            body = lines[begun[jump[1]] + 1 : n]
            if not any(
                re.fullmatch(r"\.L\w+:", x) and f"{x[:-1]}" in begun and inner(lines, x[:-1], begun, n) for x in body
            ):
                yield [x for x in body if x and not x.startswith(".")]


def inner(lines: list[str], label: str, begun: dict[str, int], end: int) -> bool:
    """True if there is a jump back to the label before the end."""
    return any(re.search(rf"{re.escape(label)}$", x) for x in lines[begun[label] + 1 : end] if not x.endswith(":"))


def count(pattern: str, lines: list[str]) -> int:
    return sum(bool(re.search(pattern, x)) for x in lines)
