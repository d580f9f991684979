"""`relay.build` in the order of TVM's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import UsageError, nearest
from ..driver.artifact import Artifact
from ..driver.build import build as build_artifact
from ..ir import Expr, Module
from ..ir.module import describe
from ..ir.target import Target
from .memory_pools import ConstantMemoryPools, WorkspaceMemoryPools, pool_flags

_EXECUTORS = {"graph": "", "aot": "irtool's code calls its kernels directly, for every executor", "vm": ""}
_RUNTIMES = {"cpp": "", "crt": "irtool's C needs no runtime"}


def build(
    ir_mod: Module | Expr,
    target: str | Mapping[str, Any] | Sequence[Any] | Target | None = None,
    target_host: str | Mapping[str, Any] | Target | None = None,
    executor: Any = "graph",
    runtime: Any = "cpp",
    workspace_memory_pools: WorkspaceMemoryPools | None = None,
    constant_memory_pools: ConstantMemoryPools | None = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
    **options: Any,
) -> Artifact:
    """Compiles a module, a function or an expression, as `irtool.build` does, with arguments in TVM's order.

    Args:
        target, target_host: in any of TVM's forms; a list, or a dictionary by device, may hold one target.
        executor, runtime: TVM's names, or records that have one (`Executor("aot")`). The code is the same for all of them; the
            report says so under `warnings`.
        workspace_memory_pools, constant_memory_pools: parts of memory, of the C backend alone; None: there is one arena, and its size is
            `artifact.arena_bytes`.
        params: arrays by the name of a parameter.
        mod_name: prefix of files and C names, where it is another than `default`, a word of C.
        options: further options of `irtool.build`, by name.

    Raises what `irtool.build` raises, and UsageError for arguments of another kind.
    """
    if target is not None and not isinstance(target, str | Mapping | list | tuple | Target):
        raise UsageError(f"a target is expected behind the module, not {describe(target)}")
    chosen = _one_target(target)
    if isinstance(chosen, Mapping) and "kind" not in chosen and "tag" not in chosen:
        raise UsageError("the second argument of relay.build is the target", help="write params=… for weights")
    pools = {
        **pool_flags("workspace_pools", workspace_memory_pools, WorkspaceMemoryPools),
        **pool_flags("constant_pools", constant_memory_pools, ConstantMemoryPools),
    }
    if pools:
        options["flags"] = {**(options.get("flags") or {}), **pools}
    notes = [_known("executor", executor, _EXECUTORS), _known("runtime", runtime, _RUNTIMES)]
    if chosen is not None and target_host is not None:
        chosen = Target(chosen, host=_one_target(target_host))
    if mod_name != "default":
        options.setdefault("name", mod_name)
    built = build_artifact(ir_mod, params, chosen, **options)
    built.report["warnings"] = [*built.report.get("warnings", ()), *filter(None, notes)]
    return built


def _one_target(target: Any) -> Any:
    """The only target of a list or of a dictionary by device; anything else as it is."""
    several = None
    if isinstance(target, list | tuple):
        several = list(target)
    elif isinstance(target, Mapping) and not any(k in target for k in ("kind", "tag")):
        values = list(target.values())
        several = values if all(isinstance(v, str | Target) for v in values) else None
    if several is None:
        return target
    if len(several) != 1:
        raise UsageError(f"a build is for one target, and there are {len(several)}")
    return several[0]


def _known(kind: str, value: Any, effects: Mapping[str, str]) -> str:
    """The note on an executor or a runtime. Raises UsageError for one that TVM does not have."""
    name = value if isinstance(value, str) or value is None else getattr(value, "name", None)
    if name is None and value is not None:
        raise UsageError(f"{kind} is a name such as {next(iter(effects))}, not {describe(value)}")
    if name is not None and name not in effects:
        raise UsageError(f"there is no {kind} {name}: TVM has {', '.join(effects)}", help=nearest(name, effects))
    effect = effects[name] if name else ""
    return f"note: {kind}={name!r} changes nothing: {effect}" if effect else ""
