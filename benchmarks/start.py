"""How long commands take from their start to their end: most of it is importing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .measure import seconds

SAMPLE = Path(__file__).parent.parent / "samples" / "mlp.relay"

_COMMANDS = (
    ("--version",),
    ("--help",),
    ("check", str(SAMPLE)),
    ("opt", "--passes=SimplifyInference,FuseOps", str(SAMPLE)),
    ("opt", "-O3", str(SAMPLE)),
)
_COMPLETED = ("opt --passes=Fus", "ops nn.conv", "opt --pass-config=relay")


def run() -> None:
    """Prints the table: median wall-clock seconds of a process, the interpreter's own start among them."""
    print("start")
    _row("python -c pass", [sys.executable, "-c", "pass"])
    for command in _COMMANDS:
        _row(f"irtool {' '.join(w.replace(str(SAMPLE), 'samples/mlp.relay') for w in command)}", _irtool(*command))
    for line in _COMPLETED:
        completion = {
            "_IRTOOL_COMPLETE": "bash_complete",
            "COMP_WORDS": f"irtool {line}",
            "COMP_CWORD": str(len(line.split())),
        }
        _row(f"completing irtool {line}", _irtool(), completion)


def _irtool(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "irtool", *arguments]


def _row(what: str, command: list[str], variables: dict[str, str] | None = None) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | (variables or {})
    took = seconds(lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True))
    print(f"  {what:66s} {took:6.3f} s")
