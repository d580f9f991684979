"""A process that runs golden files for another: `irtool test -j`.

It reads pickled tasks from its standard input and writes pickled results to its standard output, until its input ends. Whatever
else is written to the output, by compiled programs for example, goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from dataclasses import dataclass

from ...diagnostics import IrError, render
from ...signals import TERMINATING, Stopped
from .golden import run_golden
from .outcome import FAILED, Outcome


@dataclass(frozen=True)
class Task:
    """A golden file, the numbers of its cases that are to be run (None for all), and whether outputs become expected ones."""

    path: str
    chosen: frozenset[int] | None = None
    update: bool = False


@dataclass(frozen=True)
class Result:
    """The outcome of a case, its time in seconds, and whether expected output was written."""

    outcomes: tuple[Outcome, ...]
    seconds: float
    is_written: bool = False


def perform(task: Task) -> Result:
    """Runs the cases of a task in this process."""
    begin = time.perf_counter()
    try:
        outcomes, is_written = run_golden(task.path, task.update, task.chosen)
    except (IrError, OSError) as error:  # expected output that cannot be read or written is no reason to stop
        message = render(error) if isinstance(error, IrError) else f"cannot read {error.filename}: {error.strerror}"
        outcomes, is_written = [Outcome(task.path, FAILED, message)], False
    return Result(tuple(outcomes), time.perf_counter() - begin, is_written)


def serve() -> None:
    """Performs tasks until there are no more; the first thing that is read are the plug-in files to load."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it is interrupted as well, and ends it
    for number in TERMINATING:
        signal.signal(number, _stop)
    tasks, results = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    from ...plugin import load_plugins

    try:
        load_plugins(*pickle.load(tasks))
        while True:
            task = pickle.load(tasks)
            pickle.dump(perform(task), results)
            results.flush()
    except (EOFError, BrokenPipeError, Stopped):
        for number in TERMINATING:  # one that comes while Python ends would print a traceback
            signal.signal(number, signal.SIG_IGN)
        sys.exit(0)


def _stop(number: int, frame: object) -> None:
    raise Stopped(128 + number)
