"""Writes the table of characters.c from the Unicode database of Python: `python samples/chat/characters.py`."""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path

FILE = Path(__file__).with_name("characters.c")


def ranges(major: str) -> list[tuple[int, int]]:
    """The first and the last characters of the runs whose category begins with a letter, such as `L`."""
    runs: list[tuple[int, int]] = []
    for c in range(sys.maxunicode + 1):
        if unicodedata.category(chr(c))[0] != major:
            continue
        if runs and runs[-1][1] == c - 1:
            runs[-1] = runs[-1][0], c
        else:
            runs.append((c, c))
    return runs


def table(name: str, major: str) -> str:
    """The array of a category in C."""
    rows, numbers = [], [f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges(major)]
    for n in range(0, len(numbers), 7):
        rows.append("  " + ", ".join(numbers[n : n + 7]) + ",\n")
    return f"static const struct range {name}[] = {{\n{''.join(rows)}}};\n"


def text() -> str:
    """The tables of letters and of numbers."""
    return f"/* Unicode {unicodedata.unidata_version} */\n{table('letters', 'L')}{table('numbers', 'N')}"


def main() -> None:
    """Replaces the tables in the file."""
    source = FILE.read_text(encoding="utf-8")
    FILE.write_text(re.sub(r"/\* Unicode .*?(?=\n/\* End)", lambda _: text(), source, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
