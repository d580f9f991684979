"""Progress of long work: its author reports steps, and a listener, such as a bar on a terminal, gets them.

Work is nested: a build runs stages, one of them schedules kernels. None of the functions between takes a callback for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[str, int, int], None]
"""Gets the name of a kind of steps, how many of them are done, and how many there are."""

T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


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
