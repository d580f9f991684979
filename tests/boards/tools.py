"""Tests that need a board's compiler and its emulator."""

from __future__ import annotations

import shutil

import pytest

from irtool.boards.board import Board
from irtool.boards.listing import find_board


def require_board(name: str) -> Board:
    """The board. Skips the test, with Debian's packages, where its compiler or its emulator is missing."""
    board = find_board(name)
    emulator = board.emulator
    assert emulator is not None
    for tool, packages in ((board.compiler, board.packages), (emulator.command[0], emulator.packages)):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: apt-get install {' '.join(packages)}")
    return board
