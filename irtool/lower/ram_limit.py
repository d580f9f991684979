"""Memory of a function with a limit: values are computed again until its frame has no more bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from math import inf

from ..diagnostics import IrError
from ..symbolic_int import symbols_of
from ..tir.pools import Pool
from ..tir.program import HostFunction, Program, RunKernel
from ..tir.program_copy import copy_program
from .memory import plan_memory
from .mistakes import RamLimit
from .recomputation.steps import Recomputation

_TRIES = 6
"""Attempts with lower sums of live sizes: offsets may leave gaps between buffers."""

_LITTLE_WORK = 1 / 64
"""The share of a training step's work that may be done again without a limit. Steps of a U-Net and of MobileNet-v2 take as long with 1.5 %
more work as without, since fewer bytes leave the caches (EPYC, AVX-512, 2026-11-30)."""


def plan_limited_memory(program: Program, threads: int = 1, pools: Sequence[Pool] = (), overlap: bool = False) -> None:
    """Plans the memory of a program whose functions may have a `ram_limit`; see `plan_memory`.

    Training steps without a limit compute values again that take little time. Raises IrError if the frame of an entry is larger than its
    limit, even with values computed again.
    """
    for f in program.functions.values():
        if f.trains and f.ram_limit is None and f.name in program.entry_names:
            _recompute(f, 0, _LITTLE_WORK)
    limited = [f.name for f in program.functions.values() if f.ram_limit is not None and f.name in program.entry_names]
    if not limited:
        plan_memory(program, threads, pools, overlap)
        return
    plain = copy_program(program)
    plan_memory(program, threads, pools, overlap)
    goals = {name: program.functions[name].ram_limit or 0 for name in limited}
    least = {name: program.functions[name].frame_bytes for name in limited}
    for _ in range(_TRIES):
        if not any(_excess(program, name) > 0 for name in limited):
            return
        attempt = copy_program(plain)
        reached = [_recompute(attempt.functions[name], goals[name]) for name in limited]
        plan_memory(attempt, threads, pools, overlap)
        for field in fields(Program):
            setattr(program, field.name, getattr(attempt, field.name))
        for name in limited:
            least[name] = min(least[name], program.functions[name].frame_bytes)
            goals[name] -= max(0, _excess(program, name))
        if not all(reached):
            break
    for name in limited:
        if _excess(program, name) > 0:
            raise _too_large(program.functions[name], least[name])


def _excess(program: Program, name: str) -> int:
    """The bytes of a frame beyond its limit."""
    f = program.functions[name]
    assert f.ram_limit is not None
    return f.frame_bytes - f.ram_limit


def _recompute(f: HostFunction, goal: int, share: float = inf) -> bool:
    """Computes values of a function again until that many bytes are live at most, with at most a share of its work; True if they are."""
    if not all(isinstance(s, RunKernel) for s in f.body) or any(
        symbols_of(x.shape) for s in f.body for x in (*s.reads, *s.writes)
    ):
        return False
    recomputation = Recomputation(f)
    reached = recomputation.reduce(goal, share)
    f.recomputed = tuple(recomputation.recomputed)
    return reached <= goal


def _too_large(f: HostFunction, least: int) -> IrError:
    assert f.ram_limit is not None
    count = len(f.recomputed)
    again = f"with {count} value{'s' * (count != 1)} computed again" if count else "no value can be computed again"
    return IrError(
        f"the workspace of @{f.name} is to have {f.ram_limit} bytes at most, and takes {least}, {again}: {least - f.ram_limit} bytes too many",
        help="a smaller batch takes less memory",
        code=RamLimit,
    )
