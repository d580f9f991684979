"""A bar that shows how far a command is, on terminals."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..visible import visible
from .streams import Output
from .verbosity import is_quiet

_PATIENCE = 0.5
"""Seconds before a bar appears."""


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Gives what is called with the number of steps that are done and of all; None where standard error is no terminal, or the
    command is quiet.

    The bar appears where it takes longer than half a second, and goes when the body ends.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what)
    try:
        yield bar.step
    finally:
        bar.end()


def _raw(stream: Any) -> Any:
    """The stream as what moves the cursor needs it."""
    return stream.unfiltered() if isinstance(stream, Output) else stream


class _Bar:
    def __init__(self, what: str) -> None:
        self.what = what
        self.start = time.monotonic()
        self.shown: Any = None
        self.task: Any = None

    def step(self, done: int, total: int) -> None:
        """Shows that so many steps of all are done."""
        if self.shown is None:
            if time.monotonic() - self.start < _PATIENCE:
                return
            self._show(total)
        self.shown.update(self.task, completed=min(done, total))

    def _show(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.shown = Progress(*columns, console=Console(file=_raw(sys.stderr)), transient=True)
        self.shown.start()
        self.task = self.shown.add_task(visible(self.what), total=total)

    def end(self) -> None:
        """Takes the bar away."""
        if self.shown is not None:
            self.shown.stop()
