"""Tables as rich draws them, for terminals."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..visible import visible
from .streams import own_escapes

Row = Sequence[str]

_HEAD, _FIRST, _MIDDLE = "bold", "cyan", "dim"


def draw_table(rows: Sequence[Row], columns: Sequence[int], width: int, *, head: bool, coloured: bool) -> str:
    """Rows of cells as lines of at most `width`, of which the last column wraps.

    Args:
        rows: the cells; the first row has the titles of the columns if `head`.
        columns: the width of each column but the last; a wider cell stands on a line of its own.
        coloured: whether escapes for colours are written; without them the lines are plain text.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    written = io.StringIO()
    console = Console(
        file=written,
        width=width,
        color_system="standard" if coloured else None,
        force_terminal=coloured,
        highlight=False,
        emoji=False,
        _environ={},
    )
    with console:  # one write at the end
        for part in _parts(rows, columns, width, head):
            console.print(part, soft_wrap=isinstance(part, Text))
    return own_escapes("\n".join(line.rstrip() for line in written.getvalue().splitlines()))


def _parts(rows: Sequence[Row], columns: Sequence[int], width: int, head: bool) -> Iterator[Table | Text]:
    """Tables of the same columns one below the other, and between them the cells that are too wide for theirs."""
    table = _table(columns, width)
    for n, row in enumerate(rows):
        style = _HEAD if head and n == 0 else ""
        cells = [Text(cell) for cell in row]
        for i, w in enumerate(columns):
            if len(row[i]) <= w:
                continue
            if table.row_count:
                yield table
            table = _table(columns, width)
            line = Text()
            for k in range(i):  # the text before it is on its line, once each time
                line.append(f"{cells[k].plain:{columns[k]}s}  ", style=style or (_FIRST if k == 0 else _MIDDLE))
                cells[k] = Text("")
            yield line.append(row[i], style=style or (_FIRST if i == 0 else _MIDDLE))
            cells[i] = Text("")
        table.add_row(*cells, style=style)
    if table.row_count:
        yield table


def _table(columns: Sequence[int], width: int) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False, collapse_padding=False)
    for n, w in enumerate(columns):
        table.add_column(width=w, no_wrap=True, style=_FIRST if n == 0 else _MIDDLE)
    table.add_column(width=width - sum(columns) - 2 * len(columns), overflow="fold")
    return table
