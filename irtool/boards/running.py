"""Runs of a board's programs in its emulator, within limits of time and output, and the faults that they end with."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..diagnostics import ToolError
from .board import Emulator
from .tools import require_tool

TIME_LIMIT = 120.0
"""Seconds after which a run is ended, unless another limit is set."""

_MOST_OUTPUT = 1 << 22
"""Bytes that a program may print."""

_SHOWN = 2000
_FAULT = re.compile(
    r"FAULT: (?P<reason>[a-z ]+?)(?: at (?P<address>0x[0-9a-f]{8}))?(?:; instruction (?P<place>0x[0-9a-f]{8}))?"
    r"(?:; called from (?P<caller>0x[0-9a-f]{8}))?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class BoardRun:
    """The way in which a build's program runs on its board.

    Attributes:
        report: the build report, with the record of the board and the kernels.
        program: the path of the program, which has the names of its functions.
        seconds: the time limit.
        counts: whether the program's counter counts instructions.
        printed: gets what a run printed.
    """

    report: Mapping[str, Any]
    program: Path
    seconds: float = TIME_LIMIT
    counts: bool = False
    printed: list[str] = field(default_factory=list)

    def run(self, arguments: Sequence[str], folder: Path) -> None:
        """Runs it in a folder.

        Raises ToolError for a missing emulator, for a run that takes longer than its limit, for a fault, with the function, the kernel and the
        line, and for another exit code than 0.
        """
        board = self.report["board"]
        if board["emulator"] is None:
            raise ToolError(
                f"the description of the board {board['name']} has no emulator",
                help="name a machine or an emulator in it, or build the program and run it on the device",
            )
        emulator = Emulator.of_record(board["emulator"])
        require_tool(emulator.command[0], emulator.packages, f"the board {board['name']}")
        if self.counts and not emulator.counting:
            raise ToolError(f"the emulator of the board {board['name']} does not count instructions")
        command = emulator.line(str(self.program.resolve()), arguments, self.counts)
        code, output = _run_within(command, folder, self.seconds)
        if code is None:
            raise ToolError(
                f"the program on {board['name']} did not end within {self.seconds:g} s",
                help="--time-limit sets another limit",
                notes=_notes(output),
            )
        fault = _FAULT.search(output)
        if fault is not None:
            raise self._fault(board, fault)
        if code:
            raise ToolError(f"the program on {board['name']} ended with code {code}", notes=_notes(output))
        self.printed.append(output)

    def _fault(self, board: Mapping[str, Any], fault: re.Match[str]) -> ToolError:
        """The error for a fault, with the function of its instruction, that function's caller, and their kernels."""
        reason, address = fault["reason"], f" at {fault['address']}" if fault["address"] else ""
        notes = []
        for what, where in (("at", fault["place"]), ("called from", fault["caller"])):
            if where is None:
                continue
            function, line = self._function_of(board, where)
            notes.append(f"{what} {where}: {function}{f', {line}' if line else ''}")
            kernel = next((k for k in self.report["kernels"] if k["c_name"] == function), None)
            if kernel is not None:
                places = f" of {', '.join(kernel['places'])}" if kernel.get("places") else ""
                notes.append(f"the kernel {kernel['name']}: {', '.join(kernel['operators'])}{places}")
        return ToolError(f"the program on {board['name']} ended with a fault: {reason}{address}", notes=tuple(notes))

    def _function_of(self, board: Mapping[str, Any], address: str) -> tuple[str, str]:
        """The function with that instruction, and its file and line, as far as known."""
        command = [f"{board['prefix']}addr2line", "-f", "-s", "-e", str(self.program), address]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return "an unknown function", ""
        lines = [*answer.stdout.splitlines(), "", ""]
        line = lines[1].split(" ")[0]
        return (
            lines[0] if lines[0] not in ("", "??") else "an unknown function",
            "" if line.startswith("??") or line.endswith(":?") else line,
        )


def _notes(output: str) -> tuple[str, ...]:
    """The end of a program's output."""
    text = output.strip()[-_SHOWN:]
    return (text,) if text else ()


def _run_within(command: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
    """Exit code and output of a command; None in place of the code if it took longer. Raises ToolError for too much output."""
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise ToolError(f"{command[0]} could not be run: {error.strerror}") from None
    pieces: list[bytes] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_read, args=(process.stdout, pieces, process), daemon=True)
    reader.start()
    code: int | None
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with suppress(OSError):
            process.kill()
        process.wait()
    reader.join()
    process.stdout.close()
    output = b"".join(pieces)
    if len(output) > _MOST_OUTPUT:
        raise ToolError(
            f"the program printed more than {_MOST_OUTPUT} bytes",
            notes=_notes(output[:_SHOWN].decode(errors="replace")),
        )
    return code, output.decode(errors="replace").replace("\r\n", "\n")


def _read(stream: IO[bytes], pieces: list[bytes], process: subprocess.Popen[bytes]) -> None:
    """Reads a stream to its end; a program that prints without end is ended."""
    total = 0
    while piece := os.read(stream.fileno(), 1 << 16):
        pieces.append(piece)
        total += len(piece)
        if total > _MOST_OUTPUT:
            process.kill()
            return
