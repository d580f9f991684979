"""Instructions of functions, as the start-up code counts and prints them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..diagnostics import ToolError

_COUNTER = re.compile(r"^COUNTER: (\d+) ticks for (\d+) instructions$", re.MULTILINE)
_COUNT = re.compile(r"^COUNT: ([0-9a-f]+) (\d+) (\d+) (\d+)$", re.MULTILINE)


class FunctionCount(NamedTuple):
    """The calls of a function, and the instructions of all of them with those of the functions that it calls."""

    calls: int
    instructions: int


def counting_flags(functions: int, excluded: str) -> str:
    """The compiler's flags for a program that counts so many functions, but for those whose names contain one of the excluded texts, which have
    commas between them."""
    hooks = f"-finstrument-functions -finstrument-functions-exclude-function-list={excluded}"
    return f"-DCOUNTED_FUNCTIONS={functions} {hooks}"


def read_counts(output: str, program: Path, prefix: str) -> Mapping[str, FunctionCount]:
    """The counts that a program printed, by the names of functions. `prefix`: of the commands of its tools. Raises ToolError for an output
    without counts."""
    scale = _COUNTER.search(output)
    if scale is None or not int(scale[1]):
        raise ToolError("the program printed no counts of instructions", notes=(output.strip()[-500:],))
    names = _functions(program, prefix)
    result = {}
    for address, calls, high, low in _COUNT.findall(output):
        ticks = (int(high) << 24) + int(low)
        place = int(address, 16)
        name = names.get(place) or names.get(place & ~1, f"0x{address}")  # the lowest bit of an address of Thumb code
        result[name] = FunctionCount(int(calls), round(ticks * int(scale[2]) / int(scale[1])))
    return result


def _functions(program: Path, prefix: str) -> dict[int, str]:
    """The names of functions by address."""
    command = [f"{prefix}nm", "-P", str(program)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{command[0]} could not be run: {error}") from None
    rows = (line.split() for line in answer.stdout.splitlines())
    return {int(row[2], 16): row[0] for row in rows if len(row) >= 3 and row[1] in "tT"}
