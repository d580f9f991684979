"""The constants of a program in several parts of memory: each in the first one that it fits in, the largest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...diagnostics import IrError
from ...tir.mistakes import PoolsTooSmall
from ...tir.pools import Pool
from ...tir.program import Slot
from ..interface.memory import ALIGNMENT


@dataclass
class ConstantPool:
    """A pool, the bytes that constants take of it, and the prefix of its macros: `NET_FLASH_POOL`."""

    pool: Pool
    macro: str
    bytes: int = 0


class ConstantPools:
    """Assignment of constants to pools.

    A constant counts as full cache lines, as much as a compiler and a linker may take for it at any alignment.

    Raises:
        IrError: a constant fits in no pool.
    """

    def __init__(self, name: str, constants: Iterable[Slot], pools: Sequence[Pool]) -> None:
        self.pools = [ConstantPool(p, f"{name.upper()}_{p.name.upper()}_POOL") for p in pools]
        self._pool_of: dict[Slot, ConstantPool] = {}
        if pools:
            for c in sorted(constants, key=lambda c: -c.nbytes):
                self._place(c)

    def _place(self, c: Slot) -> None:
        size = -(-max(1, c.nbytes) // ALIGNMENT) * ALIGNMENT
        for p in self.pools:
            if p.pool.size is None or p.bytes + size <= p.pool.size:
                p.bytes += size
                self._pool_of[c] = p
                return
        few = ", ".join(f"{p.pool}, {p.bytes} of them taken" for p in self.pools)
        what = f"{c.name}: {c.dtype}[{', '.join(map(str, c.shape))}], {c.nbytes} bytes"
        raise IrError(
            f"the constant pools are too small: the constant {what}, fits in none of {few}",
            help="a last pool without a size hint takes the constants that fit in no other",
            code=PoolsTooSmall,
        )

    def attributes(self, constants: Iterable[Slot], usual: str) -> dict[Slot, str]:
        """The macro in front of each constant: `usual` without pools."""
        return {c: f"{self._pool_of[c].macro}_ATTR" if self.pools else usual for c in constants}

    def size_macros(self) -> list[str]:
        """Macros of a header with the used bytes of each pool."""
        lines: list[str] = []
        for p in self.pools:
            hint = "no limit" if p.pool.size is None else f"of {p.pool.size}"
            lines += [
                f"/* Bytes of weights in the constant pool {p.pool.name}, at most ({hint}); {p.macro}_ATTR stands in front of each. */",
                f"#define {p.macro}_SIZE {p.bytes}u",
                "",
            ]
        return lines
