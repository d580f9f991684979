"""Names of stages and strategies that are switched off; `pipeline.without` sets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OFF: ContextVar[frozenset[str]] = ContextVar("switched off", default=frozenset())


@contextmanager
def switching_off(names: frozenset[str]) -> Iterator[None]:
    """Switches stages and strategies off inside of the `with` block, in addition to those that are off already."""
    token = _OFF.set(_OFF.get() | names)
    try:
        yield
    finally:
        _OFF.reset(token)


def is_on(name: str) -> bool:
    """True unless the stage or the strategy of that name is switched off."""
    return name not in _OFF.get()


def switched_off() -> tuple[str, ...]:
    """The names that are off, sorted."""
    return tuple(sorted(_OFF.get()))
