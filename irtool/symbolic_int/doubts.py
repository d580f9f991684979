"""Pairs of extents that are equal for some lengths only, kept for messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_uncertain: ContextVar[list[tuple[int, int]] | None] = ContextVar("uncertain", default=None)


@contextmanager
def uncertain_equalities_kept() -> Iterator[None]:
    """Keeps the pairs of extents that are compared, equal for some lengths and not for others, for `uncertain_equalities`."""
    token = _uncertain.set([])
    try:
        yield
    finally:
        _uncertain.reset(token)


def uncertain_equalities() -> tuple[tuple[int, int], ...]:
    """The pairs that were kept since the last call, the latest first."""
    pairs = _uncertain.get()
    if not pairs:
        return ()
    latest = tuple(reversed(pairs))
    pairs.clear()
    return latest


def kept_pairs() -> list[tuple[int, int]] | None:
    """The list that comparisons add their pairs to; None if nobody asks for them."""
    return _uncertain.get()
