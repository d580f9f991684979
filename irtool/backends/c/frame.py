"""Addresses in a function's frame, in C: in an arena with its bounds as parameters, or in pools with their beginnings as
parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ...tir.errors import WORKSPACE_ERROR
from ...tir.pools import locate
from ...tir.program import HostFunction
from ..c_types import byte_count

ARENA, END, POOLS = "arena", "arena_end", "pools"
"""Names, within a function, of its memory."""


@dataclass(frozen=True)
class Frame:
    """The frame of one function."""

    function: HostFunction

    @property
    def names(self) -> list[str]:
        """Its parameters."""
        return [POOLS] if self.function.in_pools else [ARENA, END]

    @property
    def declarations(self) -> list[str]:
        """Its parameters with their types."""
        if self.function.in_pools:
            return [f"unsigned char *const *{POOLS}"]
        return [f"unsigned char *{ARENA}", f"unsigned char *{END}"]

    @property
    def begin(self) -> str:
        """The parameter from which addresses are computed."""
        return self.names[0]

    def address(self, offset: int) -> str:
        """The address of an offset in the frame, as an expression."""
        base = ARENA
        if self.function.in_pools:
            pool, offset = locate(offset, self.function.pool_bytes)
            base = f"{POOLS}[{pool}]"
        return f"{base} + {offset}" if offset else base

    def handed(self, offset: int, callee: HostFunction) -> list[str]:
        """Arguments for a callee whose frame begins at that offset."""
        end = f"{self.address(offset)} + {callee.frame_bytes}" if self.function.in_pools else END
        return [self.address(offset), end]

    def check(self) -> str:
        """The statement that rejects an arena that is too small; empty for pools, which the caller checks."""
        size = self.function.frame_bytes
        if not size or self.function.in_pools:
            return ""
        return f"  if ((size_t)({END} - {ARENA}) < {byte_count(size)}) return {WORKSPACE_ERROR};"
