"""Memory of a device in several parts, of which a program has the first ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .memory import CACHE_LINE


@dataclass(frozen=True)
class Pool:
    """A part of memory: its name, and how many bytes it has; None: as many as are needed."""

    name: str
    size: int | None = None

    @property
    def capacity(self) -> int | None:
        """Bytes that can be given away where the pool may begin at any address: whole cache lines behind the first boundary of one."""
        return None if self.size is None else max(0, self.size - CACHE_LINE) // CACHE_LINE * CACHE_LINE

    def __str__(self) -> str:
        return f"{self.name} ({'no limit' if self.size is None else f'{self.size} bytes'})"


def locate(offset: int, sizes: Sequence[int]) -> tuple[int, int]:
    """The pool, and the offset inside of it, of a place in a frame that has so many bytes in each pool, one pool behind the other."""
    pool = 0
    while pool + 1 < len(sizes) and offset >= sizes[pool]:
        offset -= sizes[pool]
        pool += 1
    return pool, offset


def pool_record(pool: Pool, taken: int) -> dict[str, Any]:
    """Entry of a report for a pool of which a run takes so many bytes."""
    return {"name": pool.name, "size_hint_bytes": pool.size, "bytes": taken}
