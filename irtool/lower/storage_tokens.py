"""Tokens, the parts of memory of TVM's storage plan, and who gets which."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from ..ir.meta import VirtualDevice

_MATCH_RANGE = 16
"""A free token fits if its size differs from the requested size by at most this factor."""


@dataclass(eq=False)
class Token:
    """A part of memory of `size` bytes on a device. `readers` counts pending readers of its contents; `largest` is the size of
    the largest value that was in it."""

    size: int
    device: VirtualDevice | None = None
    readers: int = 0
    id: int = -1
    largest: int = field(default=0)


class TokenAllocator:
    """The tokens of one function, in `tokens` by their ids; a free one is taken by values on the same device only."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self._free: dict[VirtualDevice | None, list[tuple[int, int, Token]]] = {}
        """Free tokens by size, then by when they became free."""
        self._freed = 0

    def keep(self, token: Token) -> Token:
        """Memory that is never free again: one reader more than there are."""
        self._allocate(token).readers += 1
        return token

    def request(self, requested: Token) -> Token:
        """A free token: the smallest that is large enough, else the largest that is not; a new one where none is near."""
        size = requested.size
        free = self._free.get(requested.device, [])
        middle = bisect.bisect_left(free, (size,))
        if middle < len(free) and free[middle][0] <= size * _MATCH_RANGE:
            index = middle
        elif middle and free[middle - 1][0] >= size // _MATCH_RANGE:
            index = middle - 1
        else:
            return self._allocate(requested)
        token = free.pop(index)[2]
        token.largest = max(token.largest, size)
        token.readers = requested.readers
        return token

    def release_if_unread(self, token: Token) -> None:
        """Makes a token free once nothing reads it any more."""
        if token.readers == 0:
            self._freed += 1
            bisect.insort(self._free.setdefault(token.device, []), (token.largest, self._freed, token))

    def _allocate(self, token: Token) -> Token:
        token.id = len(self.tokens)
        token.largest = token.size
        self.tokens.append(token)
        return token
