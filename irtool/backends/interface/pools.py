"""The pools of a program's workspace, for its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...tir.pools import Pool
from ...tir.program import Program
from .memory import ALIGNMENT
from .names import Identifiers


@dataclass(frozen=True)
class WorkspacePool:
    """A pool, the most bytes of it that a run of any entry takes, and its names: `macro` is the prefix of its macros
    (`NET_SRAM_POOL`), `symbol` the network's own memory for it."""

    pool: Pool
    bytes: int
    macro: str
    symbol: str

    @property
    def name(self) -> str:
        """Its field in the struct of pools."""
        return self.pool.name

    @property
    def size(self) -> int:
        """The bytes that a pool at any address needs; 0 for an unused pool."""
        return self.bytes + ALIGNMENT if self.bytes else 0


def workspace_pools(programs: Sequence[Program], name: str, names: Identifiers) -> list[WorkspacePool]:
    """The pools of a program for several processors; none if it has one arena."""
    entries = [p.functions[n] for p in programs for n in p.entry_names]
    return [
        WorkspacePool(
            pool,
            max(f.pool_bytes[n] for f in entries),
            f"{name.upper()}_{pool.name.upper()}_POOL",
            names.fresh(f"{name}_storage_{pool.name}"),
        )
        for n, pool in enumerate(programs[0].pools)
    ]


def size_macros(pools: Sequence[WorkspacePool]) -> list[str]:
    """The sizes of the pools, for a header."""
    lines: list[str] = []
    for p in pools:
        hint = "no limit" if p.pool.size is None else f"of {p.pool.size}"
        lines += [
            f"/* Bytes of the workspace pool {p.name} that one run needs ({hint}). */",
            f"#define {p.macro}_SIZE {p.size}u",
            "",
        ]
    return lines


def struct(name: str, pools: Sequence[WorkspacePool]) -> list[str]:
    """The struct by which a caller passes the pools, for a header."""
    if not pools:
        return []
    fields = [f"  void *{p.name};{'' if p.bytes else ' /* not used */'}" for p in pools]
    return [
        "",
        "/* The memory of a run: each pool has as many bytes as its macro says. */",
        f"struct {name}_workspace_pools {{",
        *fields,
        "};",
    ]
