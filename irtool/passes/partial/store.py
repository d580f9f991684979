"""Known values of references, with rollback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .values import Partial, StaticRef


class _Frame:
    __slots__ = ("history_valid", "values")

    def __init__(self, history_valid: bool = True) -> None:
        self.values: dict[StaticRef, Partial] = {}
        self.history_valid = history_valid


class ReferenceStore:
    """A stack of frames: a branch that may not be taken works in a frame of its own, which is dropped after it."""

    def __init__(self) -> None:
        self._frames = [_Frame()]

    @contextmanager
    def extended(self) -> Iterator[None]:
        """A new frame for the time of a `with`."""
        self._frames.append(_Frame())
        try:
            yield
        finally:
            while not self._frames[-1].history_valid:
                self._frames.pop()
            self._frames.pop()

    def insert(self, ref: StaticRef, value: Partial) -> None:
        """The reference holds `value` from now on."""
        self._frames[-1].values[ref] = value

    def lookup(self, ref: StaticRef) -> Partial | None:
        """The value of the reference, or None if it is no longer known."""
        for frame in reversed(self._frames):
            if ref in frame.values:
                return frame.values[ref]
            if not frame.history_valid:
                return None
        return None

    @property
    def depth(self) -> int:
        """The number of frames: more after unknown code ran."""
        return len(self._frames)

    def invalidate(self) -> None:
        """Unknown code ran: nothing is known of any reference."""
        self._frames.append(_Frame(history_valid=False))
