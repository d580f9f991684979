"""Running a compiled program in a process of its own, on raw files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..boards.running import BoardRun
from ..diagnostics import ToolError
from ..files import temporary_folder

_SHOWN = 4000


def run_program(
    program: Path,
    weights: Path | None,
    inputs: Sequence[Any],
    outputs: int,
    runner: Sequence[str] = (),
    lengths: Sequence[str] = (),
    board: BoardRun | None = None,
    seconds: float | None = None,
) -> list[bytes]:
    """The bytes of each output, for contiguous arrays as inputs. `runner`: words before the program, such as an emulator; `lengths`: those that
    the run decides, in the order in which the program takes them; `board`: where a program for a board runs; `seconds`: the time limit of
    another program, None for none.

    Raises ToolError with the program's message if its exit code is not 0, as under a sanitizer, and if the time is over.
    """
    with temporary_folder() as folder:
        read = [Path(folder, f"in{n}.raw") for n in range(len(inputs))]
        written = [Path(folder, f"out{n}.raw") for n in range(outputs)]
        for path, array in zip(read, inputs):
            path.write_bytes(array.tobytes())
        if board is not None:
            board.run([program.name, *lengths, *(p.name for p in (*read, *written))], Path(folder))
            return _contents(written, board.report["board"]["name"])
        full: list[str | Path] = [
            *runner,
            program.resolve(),
            *([weights.resolve()] if weights else []),
            *lengths,
            *read,
            *written,
        ]
        try:
            done = subprocess.run(full, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
        except OSError as error:
            raise ToolError(f"{runner[0] if runner else program} could not be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise ToolError(
                f"the compiled program did not end within {seconds:g} s", help="--time-limit sets another limit"
            ) from None
        if done.returncode != 0:
            message = done.stderr.strip()[:_SHOWN]
            where = f" under {runner[0]}" if runner else ""
            ended = f"the compiled program ended with code {done.returncode}{where}"
            raise ToolError(ended + (f": {message}" if message else ""))
        return _contents(written, runner[0] if runner else "")


def _contents(written: Sequence[Path], where: str) -> list[bytes]:
    """The bytes of the files that a program wrote. Raises ToolError if one is missing."""
    if not all(path.exists() for path in written):
        raise ToolError("the compiled program wrote no output" + (f" under {where}" if where else ""))
    return [path.read_bytes() for path in written]
