"""TVM's records of memory pools (`tvm.ir.memory_pools`), which `relay.build` takes: of each, its name and its size are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import UsageError
from ..ir.module import describe


@dataclass(frozen=True)
class PoolInfoProperties:
    """Properties of a pool. `size_hint_bytes`: -1 for a pool that is as large as it has to be. The others change nothing here."""

    size_hint_bytes: int = -1
    clock_frequency_hz: int = -1
    read_bandwidth_bytes_per_cycle: int = -1
    write_bandwidth_bytes_per_cycle: int = -1
    read_latency_cycles: int = 0
    write_latency_cycles: int = 0
    target_burst_bytes: Mapping[Any, int] | None = None


@dataclass(frozen=True)
class WorkspacePoolInfo:
    """A pool for temporaries. `targets` are not looked at: a build has one."""

    pool_name: str
    targets: Sequence[Any] = ()
    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)


@dataclass(frozen=True)
class ConstantPoolInfo:
    """A pool for weights. `constant_info_arr`, weights that TVM has placed there already, must be empty."""

    pool_name: str
    targets: Sequence[Any] = ()
    constant_info_arr: Sequence[Any] = ()
    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)


@dataclass(frozen=True)
class WorkspaceMemoryPools:
    """The pools of a workspace, the first one first."""

    pools: Sequence[WorkspacePoolInfo]


@dataclass(frozen=True)
class ConstantMemoryPools:
    """The pools of the weights, the first one first."""

    pools: Sequence[ConstantPoolInfo]


def pool_flags(flag: str, pools: Any, kind: type[WorkspaceMemoryPools | ConstantMemoryPools]) -> dict[str, list[str]]:
    """Flags of the C backend for pools; none for None. Raises UsageError for anything that is not of that kind."""
    if pools is None:
        return {}
    if not isinstance(pools, kind):
        raise UsageError(
            f"memory pools are a {kind.__name__}, not {describe(pools)}",
            help=f"relay.memory_pools.{kind.__name__}([…]) holds records of pools",
        )
    if any(getattr(p, "constant_info_arr", ()) for p in pools.pools):
        raise UsageError("weights that are placed by hand have no counterpart: leave constant_info_arr empty")
    sizes = [f"{p.pool_name}:{p.pool_info_properties.size_hint_bytes}" for p in pools.pools]
    return {flag: [p.pool_name for p in pools.pools], f"{flag}_size_hint_bytes": sizes}
