"""Arrays of equal bytes, found without reading most of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

BEGINNING = 16
"""Elements that tell most arrays apart."""


def beginning(data: Any) -> bytes:
    """The first elements of an array."""
    result: bytes = data.ravel()[:BEGINNING].tobytes()
    return result


class EqualData(Generic[T]):
    """Things by their data: the first of those that are equal. Data is read as a whole if other data begins like it."""

    def __init__(self) -> None:
        self._alone: dict[Hashable, list[tuple[Callable[[], Any], T]]] = {}
        self._known: dict[Hashable, T] = {}

    def first(self, kind: Hashable, begin: bytes, data: Callable[[], Any], thing: T) -> T:
        """The thing that came first with these data and this kind, or `thing`.

        Args:
            kind: with the size of the data.
            begin: their beginning.
            data: gives them.
        """
        alone = self._alone.get((kind, begin))
        if alone is None:
            self._alone[kind, begin] = [(data, thing)]
            return thing
        while alone:  # the first one has not been read yet
            other, known_thing = alone.pop()
            self._known[kind, _digest(other())] = known_thing
        return self._known.setdefault((kind, _digest(data())), thing)


def _digest(data: Any) -> bytes:
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view("uint8").data).digest()
