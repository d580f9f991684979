"""Progress of long work: its author reports steps, and a listener, such as a bar on a terminal, gets them; a recorder gets the times of
parts of the work.

Work is nested: a build runs stages, one of them schedules kernels. None of the functions between takes a callback for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str, int, int], None]
"""Gets the name of a kind of steps, how many of them are done, and how many there are."""

Recorder = Callable[[str, str, float, float], None]
"""Gets the kind of a part of the work, its name, and the times of `time.perf_counter` when it began and ended. Any thread may call it."""

T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recorded_by(recorder: Recorder) -> Iterator[None]:
    """Context in which a recorder gets the times of the parts of this thread's work."""
    before = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(before)


def current_recorder() -> Recorder | None:
    """The recorder of this thread, which may hand it to others; None without one."""
    return _recorder.get()


@contextmanager
def timed(kind: str, name: str) -> Iterator[None]:
    """Context of a part of the work, whose time is recorded if somebody wants it."""
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    begin = time.perf_counter()
    try:
        yield
    finally:
        recorder(kind, name, begin, time.perf_counter())


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Context in which a listener, and no other, hears of the steps of this thread."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def say_step(kind: str, done: int, total: int) -> None:
    """Says that so many of all steps of a kind are done. Costs next to nothing where nobody listens."""
    listener = _listener.get()
    if listener is not None:
        listener(kind, done, total)


def counted(kind: str, items: Sequence[T], name: Callable[[T], str] | None = None) -> Iterator[T]:
    """The items one by one; before each, and behind the last, it is said how many are done, and, where they have names, which
    one comes."""
    for n, item in enumerate(items):
        say_step(f"{kind}: {name(item)}" if name is not None else kind, n, len(items))
        yield item
    say_step(kind, len(items), len(items))
