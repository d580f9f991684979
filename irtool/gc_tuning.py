"""Python's collections of reference cycles, made rare while many objects are made and few are released."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 100_000
"""Objects that are made between two collections. With Python's own 700, a build spends an eighth of its time on them."""

_lock = threading.Lock()
_users = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collections are rare meanwhile, in all threads; the last one to leave restores the settings from before the first one.

    Expressions, types and loop nests have no cycles: what is not needed any more goes without a search.
    """
    global _users, _before
    with _lock:
        if not _users:
            _before = gc.get_threshold()
            young, *older = _before
            if 0 < young < YOUNG:
                gc.set_threshold(YOUNG, *older)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                gc.set_threshold(*_before)
