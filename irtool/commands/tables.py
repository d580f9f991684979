"""Tables: aligned text in pipes and files; on a terminal rich draws them, and the last column wraps within the window."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from .colour import is_coloured

_NARROWEST = 24
"""Columns that the last one needs beside the others; where they are not there, it stands below them."""


def is_terminal(stream: Any = None) -> bool:
    """True if somebody reads along; the stream is standard output unless it is given."""
    return bool((stream or sys.stdout).isatty())


def show_table(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    width: int | None = None,
    *,
    head: bool = True,
    stream: Any = None,
) -> str:
    """Rows of cells in columns of at least these widths, two spaces between them; the last column has none.

    `width` is that of the window, by default the terminal's; 0 stands for no limit, as where the output is no terminal. In a
    window, columns are as wide as what they hold, and the last column wraps; where that leaves it no room, the widest
    cells stand on lines of their own. `head` says that the first row has titles; `stream` is where the table goes,
    standard output unless it is given.
    """
    if width is None:
        import shutil

        width = shutil.get_terminal_size().columns if is_terminal(stream) else 0
    if not width:
        return "\n".join("  ".join([*(f"{c:{w}s}" for c, w in zip(row, widths)), row[-1]]).rstrip() for row in rows)
    columns = _fit(rows, len(widths), width)
    if columns is None:
        return "\n".join(line for row in rows for line in _stacked(row, width))
    from .drawing import draw_table

    return draw_table(rows, columns, width, head=head, coloured=is_coloured(stream or sys.stdout))


def _fit(rows: Sequence[Sequence[str]], count: int, width: int) -> list[int] | None:
    """Widths of the first `count` columns that leave the last one room: all that they need, or less for their widest cells.

    None if there is no room for that.
    """
    for share in (1, 3, 4, 5):
        columns = [max((len(r[i]) for r in rows if len(r[i]) <= width // share), default=0) for i in range(count)]
        free = width - sum(columns) - 2 * count
        if free >= (_NARROWEST if share > 1 else min(width // 2, max(len(r[-1]) for r in rows))):
            return columns
    return None


def _stacked(row: Sequence[str], width: int) -> list[str]:
    """A row whose last cell stands below the others: for windows in which not all columns have room."""
    import textwrap

    head = textwrap.wrap("  ".join(c.strip() for c in row[:-1] if c.strip()), width, subsequent_indent="  ")
    return [*head, *textwrap.wrap(row[-1], width, initial_indent="    ", subsequent_indent="    ")]


def drawer(stream: Any) -> Callable[[Sequence[Sequence[str]]], str] | None:
    """A function that draws rows of cells, their titles first, on a stream that is a terminal; None for any other."""
    if not is_terminal(stream):
        return None
    return lambda rows: show_table(rows, [0] * (len(rows[0]) - 1), stream=stream)
