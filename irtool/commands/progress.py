"""A bar that shows how far a command is, on terminals."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..steps import heard_by
from ..visible import visible
from .streams import Output, clearing
from .verbosity import is_quiet

_PATIENCE = 0.5
"""Seconds before a bar appears."""


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function to call with the number of finished steps and of all; None if standard error is no terminal, or the command
    is quiet.

    The bar appears where it takes longer than half a second, and goes when the body ends. Within another bar, that one shows
    the steps.
    """
    with _opened(what, is_quiet()) as bar:
        yield partial(bar.step, what) if bar is not None else None


@contextlib.contextmanager
def steps_shown(first: str, quiet: bool) -> Iterator[None]:
    """Shows the steps that are said of meanwhile (`irtool.steps`) in one bar, `first` before any is; unless it is `quiet`."""
    with (
        _opened(first, quiet or is_quiet()) as bar,
        heard_by(bar.step) if bar is not None else contextlib.nullcontext(),
    ):
        yield


@contextlib.contextmanager
def _opened(what: str, quiet: bool) -> Iterator[_Bar | None]:
    """The current bar, or a new one; None if no bar is shown."""
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what)
    before = _current.set(bar)
    try:
        with clearing(bar.hide):
            yield bar
    finally:
        _current.reset(before)
        bar.end()


def _raw(stream: Any) -> Any:
    """The underlying stream, for moving the cursor."""
    return stream.unfiltered() if isinstance(stream, Output) else stream


class _Bar:
    def __init__(self, what: str) -> None:
        self.start = time.monotonic()
        self.latest: tuple[str, int, int] = (what, 0, 0)
        self.shown: Any = None
        self.task: Any = None
        self.lock = threading.RLock()
        self.timer = threading.Timer(_PATIENCE, self._show)
        self.timer.daemon = True
        self.timer.start()

    def step(self, what: str, done: int, total: int) -> None:
        """Shows that so many steps of all are done."""
        with self.lock:
            self.latest = what, done, total
            if self.shown is not None:
                self._update()
            elif time.monotonic() - self.start >= _PATIENCE:
                self._show()

    def _update(self) -> None:
        what, done, total = self.latest
        # rich leaves a column with None unchanged
        self.shown.update(self.task, description=visible(what), completed=min(done, total), total=total or None)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
        from rich.text import Text

        start = self.start

        class Count(ProgressColumn):
            """Number of finished steps and of all steps, and the time since the command began, earlier kinds of steps included."""

            def render(self, task: Any) -> Text:
                steps = f"{task.completed:.0f}/{task.total:.0f} " if task.total else ""
                return Text(f"{steps}{time.monotonic() - start:.0f} s", style="progress.elapsed")

        with self.lock:
            if self.shown is not None or (self.timer.finished.is_set() and threading.current_thread() is self.timer):
                return
            columns = (TextColumn("{task.description}"), BarColumn(20), Count())
            console = Console(file=_raw(sys.stderr))
            # What else is written takes the bar away first (`clearing`), and keeps its own way to the terminal.
            shown = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
            self.task = shown.add_task("", total=None)
            self.shown = shown
            self._update()
            shown.start()

    def hide(self) -> None:
        """Takes the bar away until the next step."""
        with self.lock:
            if self.shown is not None:
                shown, self.shown = self.shown, None
                shown.stop()

    def end(self) -> None:
        """Takes it away for good."""
        self.timer.cancel()
        self.hide()


_current: ContextVar[_Bar | None] = ContextVar("bar", default=None)
