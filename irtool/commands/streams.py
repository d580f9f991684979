"""Standard streams as a command finds them: closed, on a full disk, or with a reader that has gone away.

What cannot be written to standard output is an error, since it is what the command was asked for; a message that cannot be
written to standard error is dropped, and the exit code still tells.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from ..diagnostics import IrError

_READ, _WRITE, _MESSAGES = 0, 1, 2


@cache
def _mark() -> str:
    """A mark for the beginning of irtool's own escape sequences; no input can know it."""
    return f"\x1b{os.urandom(8).hex()}["


def own_escapes(text: str) -> str:
    """Painted text, whose escape sequences are irtool's own; its words must have been made `visible` before."""
    filtered = isinstance(sys.stdout, Output) or isinstance(sys.stderr, Output)
    return text.replace("\x1b[", _mark()) if filtered else text


def _shown(text: str) -> str:
    """Text for a stream: names of models and texts hold no control characters, irtool's own escapes stay."""
    from ..visible import visible

    if "\x1b" not in text:
        return visible(text)
    return "\x1b[".join(map(visible, text.split(_mark())))


_clear: ContextVar[Callable[[], None] | None] = ContextVar("clear", default=None)


@contextlib.contextmanager
def clearing(clear: Callable[[], None]) -> Iterator[None]:
    """Calls `clear` before anything is written meanwhile: it removes the bar that moves on the terminal."""
    before = _clear.set(clear)
    try:
        yield
    finally:
        _clear.reset(before)


class Output:
    """Standard output. Raises IrError if it cannot be written, and BrokenPipeError where nobody reads it any more.

    Control characters are shown as numbers, whoever writes them; `unfiltered` is for what draws on a terminal.
    """

    def __init__(self, stream: TextIO, is_filtered: bool = True) -> None:
        self._stream = stream
        self._is_filtered = is_filtered
        self.lost = ""
        """Why something that was written got lost; empty where nothing was."""

    def write(self, text: str) -> int:
        """Writes text; returns its length."""
        try:
            return self._put(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._lost(error) from None

    def _put(self, text: str) -> int:
        clear = _clear.get()
        if clear is not None and self._is_filtered:  # else the moving bar is being drawn
            clear()
        return self._stream.write(_shown(text) if self._is_filtered else text)

    def flush(self) -> None:
        """Writes the remaining output."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._lost(error) from None

    def drain(self) -> None:
        """The same as `flush`, but errors are kept in `lost` only."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            _discard(self._stream)
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> IrError:
        from ..diagnostics import IrError  # not needed where all is well, and slow to import
        from .mistakes import UnwritableFile

        _discard(self._stream)
        why = "it is closed" if error.errno == errno.EBADF else error.strerror or error
        self.lost = f"cannot write to standard output: {why}"
        return IrError(self.lost, code=UnwritableFile)

    def unfiltered(self) -> Output:
        """The same stream for text that irtool alone has made."""
        return type(self)(self._stream, False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Messages(Output):
    """Standard error: text that cannot be written is dropped."""

    def write(self, text: str) -> int:
        """Writes text; returns its length."""
        with contextlib.suppress(OSError):
            return self._put(text)
        _discard(self._stream)
        return len(text)

    def flush(self) -> None:
        """Writes the remaining output."""
        try:
            self._stream.flush()
        except OSError:
            _discard(self._stream)


def prepare_streams() -> None:
    """Makes the three streams of this process usable for commands.

    A descriptor that is closed would be taken by the next file that is opened, and messages would go into that; so it is
    opened first, in the wrong direction: reading it, or writing to it, fails as it does where it is closed.
    """
    for descriptor, mode in ((_READ, os.O_WRONLY), (_WRITE, os.O_RDONLY), (_MESSAGES, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
    if sys.stdin is None:
        sys.stdin = _stream(_READ, "r")
    if not isinstance(sys.stdout, Output):
        sys.stdout = cast(TextIO, Output(sys.stdout or _stream(_WRITE, "w")))
    if not isinstance(sys.stderr, Messages):
        sys.stderr = cast(TextIO, Messages(sys.stderr or _stream(_MESSAGES, "w")))


def finish(code: int) -> int:
    """Writes the remaining output, and returns the exit code: `code`, or 1 if output is lost."""
    if isinstance(sys.stdout, Output):
        sys.stdout.drain()
        if sys.stdout.lost and not code:
            sys.stderr.write(f"error[E0002]: {sys.stdout.lost}\n")
            code = 1
    sys.stderr.flush()
    return code


def discard_output() -> None:
    """Discards the remaining output; the interpreter would try once more at its end, and complain."""
    _discard(sys.stdout)


def _stream(descriptor: int, mode: str) -> Any:
    return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)


def _discard(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
