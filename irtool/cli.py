"""The command line. Each command is a module of `irtool.commands` with a click command named `command` in it."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from . import __version__
from .gc_tuning import YOUNG
from .signals import TERMINATING, Interrupted, Stopped, hold_endings, insist_on_endings


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the command line and exits with the codes of `run`; 129, 130 and 143 where it is hung up, interrupted, terminated."""
    from .commands.streams import finish, prepare_streams

    gc.set_threshold(YOUNG)  # Python's own 700 mean dozens of searches while it only imports
    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    answers = {signal.SIGINT: _interrupt, **dict.fromkeys(TERMINATING, _stop)}
    for number, answer in answers.items():
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, answer)
    insist_on_endings()
    atexit.register(hold_endings)
    try:
        code = _answer(arguments)
    except KeyboardInterrupt:  # before there is a command, or after it
        code = 130
    code = finish(code)
    gc.freeze()  # Python looks for garbage as it ends, and would go through all that is left
    sys.exit(code)


def _answer(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # before click is imported, which takes longer than anything else
        with suppress(Exception):  # `finish` tells what is lost
            print(f"irtool {__version__}")
        return 0
    if asked := os.environ.get("_IRTOOL_COMPLETE"):
        from .commands.completing import complete
        from .commands.shell import group

        return complete(group, asked)
    return run(arguments)


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted


def _stop(number: int, frame: object) -> None:
    """Ends as an interrupted command does: its unfinished file is removed."""
    for other in TERMINATING:
        signal.signal(other, signal.SIG_IGN)  # a terminal that goes away sends more than one
    raise Stopped(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Runs one command in this process and returns its exit code.

    0 ok · 1 input rejected, or a check or comparison failed · 2 wrong usage · 3 a bug in irtool · 4 an outside tool failed.
    """
    from .commands.shell import execute

    return execute(arguments)


if __name__ == "__main__":
    main()
