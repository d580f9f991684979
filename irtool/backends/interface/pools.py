"""The pools of a program's workspace, for its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...diagnostics import IrError
from ...tir.mistakes import PoolsTooSmall
from ...tir.pools import Pool
from ...tir.program import Program
from .memory import ALIGNMENT
from .names import Identifiers


@dataclass(frozen=True)
class WorkspacePool:
    """A pool, the most bytes of it that a run of any entry takes, and its names: `macro` is the prefix of its macros
    (`NET_SRAM_POOL`), `symbol` the network's own memory for it. The last `region` bytes are the region of a run."""

    pool: Pool
    bytes: int
    macro: str
    symbol: str
    region: int = 0

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


def with_region(pools: Sequence[WorkspacePool], region_bytes: int) -> list[WorkspacePool]:
    """The pools with a region of so many bytes in the first that has room behind everything else. Raises IrError if none has."""
    for n, p in enumerate(pools):
        capacity = p.pool.capacity
        if capacity is None or p.bytes + region_bytes <= capacity:
            return [*pools[:n], replace(p, bytes=p.bytes + region_bytes, region=region_bytes), *pools[n + 1 :]]
    few = ", ".join(f"{p.pool}, {p.bytes} of them taken" for p in pools)
    raise IrError(
        f"the workspace pools are too small: the region for data and recursion, {region_bytes} bytes, fits in none of {few}",
        help="--region-size says how many bytes it has; a last pool without a size hint takes what fits in no other",
        code=PoolsTooSmall,
    )


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
