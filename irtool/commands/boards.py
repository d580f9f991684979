"""`irtool boards`: lists the boards, or describes one."""

from __future__ import annotations

import click

from . import param_types
from .wrong_usage import Command


@click.command(name="boards", cls=Command, short_help="List the boards, or describe one.")
@click.argument("name", type=param_types.BOARD, required=False)
def command(name: str | None) -> None:
    """List the boards for `irtool build --board`, or describe NAME, a board or a file that describes one: its memory, its tools and Debian's
    packages with them, and the command that runs a program.

    \b
    Examples:
      irtool boards
      irtool boards mps2-an386
      irtool build --board=mps2-an386 net.tflite -o out/
    """
    click.echo(_describe(name) if name else _list())


def _list() -> str:
    from ..boards.listing import board_names, find_board
    from ..boards.project import show_memory
    from .tables import show_table

    rows = [("board", "processor", "floats", "flash", "RAM", "description")]
    for name in board_names():
        board = find_board(name)
        flash, ram = (m.split(" ")[0] for m in show_memory(board))
        rows.append((name, board.processor, board.fpu, flash, ram, board.about))
    note = "`irtool boards NAME` describes a board; a file like the one that it names describes another."
    return f"{show_table(rows, (14, 11, 7, 6, 6))}\n\n{note}"


def _describe(name: str) -> str:
    import shlex
    import shutil

    from ..boards.listing import file_of, find_board
    from ..boards.project import show_memory
    from .tables import show_table

    board = find_board(name)
    flash, ram = show_memory(board)
    emulator = board.emulator
    rows = [
        ("processor", board.processor),
        (
            "floats",
            {"none": "by functions of the library", "single": "float32", "double": "float32 and float64"}[board.fpu],
        ),
        ("flash", flash),
        ("RAM", ram),
        ("compiler", shlex.join([board.compiler, *board.flags])),
        ("link", shlex.join(board.link)),
        ("packages", " ".join([*board.packages, *(emulator.packages if emulator else ())])),
        ("run", shlex.join(emulator.line("PROGRAM", ["ARGUMENT"])) if emulator else "no emulator"),
        ("file", file_of(board)),
    ]
    tools = [board.compiler, *([emulator.command[0]] if emulator else [])]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    rows += [("missing", " ".join(missing))] if missing else []
    return f"{board.name}: {board.about}\n{show_table([(f'  {a}', b) for a, b in rows], (11,), head=False)}"
