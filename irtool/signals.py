"""The signals that end a command."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

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


class _Hold:
    """Answers signals in place of the handlers there were, and remembers which came while it holds them."""

    def __init__(self) -> None:
        self.holds = True
        self.came: list[int] = []
        self.before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}

    def answer(self, number: int, frame: FrameType | None) -> None:
        before = self.before[number]
        if self.holds:
            self.came.append(number)
        elif callable(before):
            before(number, frame)
        else:  # the system's answer, which the end of the process is
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


_holds: list[_Hold] = []
"""Those of the main thread, the innermost last."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end a command wait until its body is done, which must be short, or look at `is_told_to_end`.

    Blocking them in the main thread would not do: the system gives a signal to any thread that does not block it, such as those
    of NumPy's BLAS, and the main thread answers all the same. In other threads, where none is answered, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hold = _Hold()
    _holds.append(hold)
    try:
        for number in ENDING:
            hold.before[number] = signal.getsignal(number)
            if hold.before[number] not in (signal.SIG_IGN, None):  # None: a handler that is not Python's
                signal.signal(number, hold.answer)
        yield
    finally:
        # From here on a handler may raise between any two steps; those that are not restored then are called by `answer`.
        _holds.remove(hold)
        hold.holds = False
        for number, before in hold.before.items():
            if signal.getsignal(number) == hold.answer:
                signal.signal(number, before)
        for number in hold.came:
            signal.raise_signal(number)


def is_told_to_end() -> bool:
    """True if a signal that ends the command came inside of `uninterrupted`."""
    return any(hold.came for hold in _holds)


def hold_endings() -> None:
    """Keeps signals that come while Python takes itself down, when it has no handlers any more, from changing how a command has ended."""
    if hasattr(signal, "pthread_sigmask"):  # so that none is answered from here on
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    for number in ENDING:  # which may come to threads that do not block them
        signal.signal(number, signal.SIG_IGN)
    sys.unraisablehook = sys.__unraisablehook__  # this module goes before much else


def insist_on_endings() -> None:
    """Lets the exception of a signal that came where Python drops exceptions, in a callback or `__del__`, come once more."""
    if not hasattr(signal, "setitimer"):
        return

    def answer(dropped: sys.UnraisableHookArgs) -> None:
        ending = dropped.exc_value
        if not isinstance(ending, Interrupted | Stopped):
            sys.__unraisablehook__(dropped)
            return
        error: BaseException = ending

        def end(number: int, frame: FrameType | None) -> NoReturn:
            raise error.with_traceback(None)

        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    sys.unraisablehook = answer
