"""The signals that end a command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

TERMINATING = tuple({signal.SIGTERM: None, getattr(signal, "SIGHUP", signal.SIGTERM): None})
"""Those of other programs and of the terminal that goes away; Windows has one of them only."""

ENDING = (signal.SIGINT, *TERMINATING)
"""All of them: the interrupt of a person as well."""


class Interrupted(KeyboardInterrupt):
    """An interrupt of the terminal.

    CPython (3.11) remembers a plain KeyboardInterrupt that has passed through code run from a string, as dataclasses run it, and
    ends with the signal in place of the exit code, even where the exception was answered; it does not do so for subclasses.
    """


class Stopped(SystemExit):
    """The end of a command that another program or the terminal's going away asked for."""


_AGAIN = 0.001
"""Seconds after which an ending that was dropped comes again."""


@contextmanager
def unwrapped_endings() -> Iterator[None]:
    """Raises the exception of a signal in place of the exception that Python made of it, as it does in `__set_name__`."""
    try:
        yield
    except Exception as error:
        ending = _ending_within(error)
        if ending is None:
            raise
        raise ending from None


def _ending_within(error: BaseException | None) -> BaseException | None:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # an error that is raised from itself is its own cause
        if isinstance(error, Interrupted | Stopped):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def hold_endings() -> None:
    """Keeps signals that come while Python takes itself down, when it has no handlers any more, from changing how a command has ended."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def insist_on_endings() -> None:
    """Lets the exception of a signal that came where Python drops exceptions, in a callback or `__del__`, come once more."""
    if not hasattr(signal, "setitimer"):
        return

    def answer(dropped: sys.UnraisableHookArgs) -> None:
        ending = dropped.exc_value
        if not isinstance(ending, Interrupted | Stopped):
            sys.__unraisablehook__(dropped)
            return
        found: BaseException = ending

        def end(number: int, frame: FrameType | None) -> NoReturn:
            raise found.with_traceback(None)

        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    sys.unraisablehook = answer
