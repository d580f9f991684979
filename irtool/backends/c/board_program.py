"""The files of a program for a board beside the C of the network, and notes on a missing floating-point unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...boards.board import Board
from ...boards.project import LINKER_SCRIPT, STARTUP, linker_script, makefile, startup_code
from ...tir import dtypes
from ...tir.kernel import Kernel
from ...tir.program import Program, kernels_in_use
from ..base import Request
from ..toolchain.compiler import Compiler
from .program import CText

_BY_FUNCTIONS = {"float32": 23, "float64": 33}
"""Instructions of a network whose floats are computed by the library's functions, for one with a floating-point unit: two layers of 16 x 32 x 4 take
64,500 in float32 on mps2-an385, 90,100 in float64 on mps2-an386, and 2,750 on mps2-an500; measured by `irtool bench --board`, 2026-11."""


def board_files(
    board: Board, request: Request, text: CText, compiler: Compiler, main: str
) -> dict[str, list[Any] | Path]:
    """Start-up code and linker script, and with sources a Makefile; `main` is the source with `main`."""
    files: dict[str, list[Any] | Path] = {
        STARTUP: [startup_code(board).encode()],
        LINKER_SCRIPT: [linker_script(board, text.stack_bytes).encode()],
    }
    if request.emit == "c":
        made_for = makefile(board, request.name, compiler.command, compiler.flags, text.sources, main)
        files["Makefile"] = [made_for.encode()]
    return files


def notes_on_floats(board: Board, program: Program) -> tuple[str, ...]:
    """A warning about kernels that compute floats without a unit for them."""
    if board.fpu == "double":
        return ()
    slow = ("float64",) if board.fpu == "single" else ("float64", "float32")
    kernels = list(kernels_in_use(program))
    notes = []
    for dtype in slow:
        count = sum(dtype in _float_types(k) for k in kernels)
        if count:
            notes.append(
                f"warning: {board.name} computes {dtype} by functions of the library, with about {_BY_FUNCTIONS[dtype]} times as many "
                f"instructions: {count} of {len(kernels)} kernels have {dtype}"
            )
    return tuple(notes)


def _float_types(kernel: Kernel) -> set[str]:
    """The types of the floats that a kernel reads and writes; those of 16 bits are computed in float32."""
    types = {b.dtype for b in kernel.params if dtypes.is_float(b.dtype)}
    return {"float64" if t == "float64" else "float32" for t in types}
