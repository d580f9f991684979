"""A table and a list as windows of many widths show them: `python -m tests.commands.tables` writes them to `tables.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from irtool.commands.tables import show_table

FILE = Path(__file__).parent / "tables.txt"
WIDTHS = (0, *range(16, 64, 4), *range(64, 136, 9))
TABLE = [
    ["pass", "level", "what it does"],
    ["DeadCodeElimination", "1", "removes bindings that nothing uses, and calls whose results nobody reads"],
    ["FuseOps", "0", "groups operators"],
    ["a.name.that.is.longer.than.most.windows.have.room.for", "10", "short"],
    ["ToANormalForm", "", "names every value by a let, so that the order of evaluation is that of the text"],
]
LIST = [["-O", "level of optimization"], ["--disabled-pass NAME", "leaves a pass out, whatever the level"]]


def texts() -> Iterator[str]:
    """The table, and the list, in each window."""
    for width in WIDTHS:
        for rows, least, head in ((TABLE, [8, 5], True), (LIST, [4], False)):
            drawn = show_table(rows, least, width, head=head)
            yield f"---- {width} columns\n" + "".join(f"{line.rstrip()}\n" for line in drawn.splitlines())


if __name__ == "__main__":
    FILE.write_text("".join(texts()), encoding="utf-8")
