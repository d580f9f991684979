"""The command line. Each command is a module of `irtool.commands` with a click command named `command` in it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from . import __version__


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with the codes of `run`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:  # answered before click is imported, which takes longer than anything else
        print(f"irtool {__version__}")
        sys.exit(0)
    if asked := os.environ.get("_IRTOOL_COMPLETE"):
        from .commands.completing import complete
        from .commands.shell import group

        sys.exit(complete(group, asked))
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(run(arguments))


def _stop(number: int, frame: object) -> None:
    """Ends as an interrupted command does: what it was writing is removed."""
    sys.exit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Runs one command in this process and returns its exit code.

    0 ok · 1 input rejected, or a check or comparison failed · 2 wrong usage · 3 a bug in irtool · 4 an outside tool failed.
    """
    from .commands.shell import execute

    return execute(arguments)


if __name__ == "__main__":
    main()
