"""Running a compiled program in a process of its own, on raw files."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import ToolError

_SHOWN = 4000


def run_program(
    program: Path,
    weights: Path | None,
    inputs: Sequence[Any],
    outputs: int,
    runner: Sequence[str] = (),
    lengths: Sequence[str] = (),
) -> list[bytes]:
    """The bytes of each output, for contiguous arrays as inputs. `runner`: words before the program, such as an emulator; `lengths`: those that
    the run decides, in the order in which the program takes them.

    Raises ToolError with the program's message if its exit code is not 0, as under a sanitizer.
    """
    with tempfile.TemporaryDirectory(prefix="irtool-") as folder:
        read = [Path(folder, f"in{n}.raw") for n in range(len(inputs))]
        written = [Path(folder, f"out{n}.raw") for n in range(outputs)]
        for path, array in zip(read, inputs):
            path.write_bytes(array.tobytes())
        full: list[str | Path] = [
            *runner,
            program.resolve(),
            *([weights.resolve()] if weights else []),
            *lengths,
            *read,
            *written,
        ]
        try:
            done = subprocess.run(full, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise ToolError(f"{runner[0] if runner else program} could not be run: {error.strerror}") from None
        if done.returncode != 0:
            message = done.stderr.strip()[:_SHOWN]
            where = f" under {runner[0]}" if runner else ""
            ended = f"the compiled program ended with code {done.returncode}{where}"
            raise ToolError(ended + (f": {message}" if message else ""))
        if not all(path.exists() for path in written):
            raise ToolError("the compiled program wrote no output" + (f" under {runner[0]}" if runner else ""))
        return [path.read_bytes() for path in written]
