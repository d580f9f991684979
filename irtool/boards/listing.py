"""The boards by name, and boards of users by the path of their file."""

from __future__ import annotations

import os
from pathlib import Path

from ..diagnostics import UsageError, nearest
from .board import Board
from .reading import read_board

_ROWS = Path(__file__).parent / "rows"


def board_names() -> list[str]:
    """The names of the boards that irtool has, in alphabetical order."""
    return sorted(p.stem for p in _ROWS.glob("*.toml"))


def find_board(text: str) -> Board:
    """The board of a name, or of a file: a path that has a folder or ends with `.toml`.

    Raises UsageError for an unknown name, IrError for a file that cannot be read, and for one that describes no board.
    """
    if text.endswith(".toml") or os.sep in text:
        return read_board(Path(text), text)
    names = board_names()
    if text not in names:
        listing = f"the boards are {', '.join(names)}; a file ending with .toml describes another one"
        hint = nearest(text, names)
        raise UsageError(f"unknown board {text}", help=f"{hint} {listing}" if hint else listing)
    return read_board(_ROWS / f"{text}.toml")


def file_of(board: Board) -> str:
    """The path of the file that describes a board."""
    return board.origin or str(_ROWS / f"{board.name}.toml")
