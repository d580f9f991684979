"""Trip counts of the steps of a program: loops that count up to a constant are counted, all others run once.

i = 0; loop: c = i < 16; if c: …; i = i + 1; again          ⇒      17 iterations
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..post_order import in_post_order
from . import dtypes
from .expr import Const, Expr, Load
from .kernel import Kernel
from .program import (
    CONSTANT,
    Again,
    Branch,
    CallFunction,
    CopySlot,
    Fork,
    Loop,
    Program,
    RunKernel,
    Slot,
    Step,
    Switch,
    calls,
    steps,
)
from .simplify import Simplifier
from .stmt import Buffer, Store
from .walk import rewrite

MOST = 1000
"""Iterations of a loop up to which they are counted."""


def count_runs(program: Program) -> Counter[Kernel]:
    """The number of times that a run of the entry runs each kernel: both arms of a branch count, of recursive calls the first."""
    runs: Counter[Kernel] = Counter()
    called: Counter[str] = Counter({program.entry: 1})
    below: dict[type, Callable[[str], tuple[str, ...]]] = {str: lambda name: tuple(calls(program.functions[name]))}
    for name in reversed(in_post_order(below, [program.entry])):
        stack: list[tuple[Sequence[Step], int]] = [(program.functions[name].body, called[name])]
        while stack:
            body, times = stack.pop()
            for n, s in enumerate(body):
                if isinstance(s, RunKernel):
                    runs[s.kernel] += times
                elif isinstance(s, CallFunction):
                    called[s.function] += times
                elif isinstance(s, Fork):
                    stack += [(arm, times) for arm in s.arms]
                elif isinstance(s, Loop):
                    count = count_iterations(body[:n], s)
                    stack += [(inner, times * count) for inner in s.bodies]
    return runs


def count_iterations(before: Sequence[Step], loop: Loop) -> int:
    """The iterations of a loop, the last one included: its integer arithmetic is evaluated here, from the constants that steps before
    it copy. 1 if that does not decide the number; at most `MOST`."""
    known: dict[Slot, int] = {}
    for s in before:
        _do(s, known)
    body = loop.bodies[0]
    for count in range(1, MOST + 1):
        following = _iterate(body, known)
        if following is None:
            return 1
        if following < 0:
            return count
        body = loop.bodies[following]
    return MOST


def _iterate(body: Sequence[Step], known: dict[Slot, int]) -> int | None:
    """The body of the next iteration, -1 after the last one; None if it is not known. Changes the known slots."""
    stack = list(reversed(body))
    while stack:
        s = stack.pop()
        if isinstance(s, Again):
            return s.body
        if isinstance(s, Branch):
            holds = _value(s.cond, known) if isinstance(s.cond, Slot) else None
            if holds is not None:
                stack.extend(reversed(s.then if holds else s.other))
                continue
            inside = steps([*s.then, *s.other])
            if any(isinstance(x, Again) for x in inside):
                return None
            _forget(inside, known)
        elif isinstance(s, Loop | Switch):
            if isinstance(s, Switch) and any(isinstance(x, Again) for x in steps([s])):
                return None
            _forget(steps([s]), known)
        else:
            _do(s, known)
    return -1


def _do(s: Step, known: dict[Slot, int]) -> None:
    """Notes the integer that a step writes, or that it is not known."""
    value: int | None = None
    if isinstance(s, CopySlot):
        value = _value(s.source, known)
    elif isinstance(s, RunKernel) and isinstance(s.kernel.body, Store) and len(s.outputs) == 1:
        value = _result(s.kernel.body, {b: _value(x, known) for b, x in zip(s.kernel.inputs, s.inputs)})
    _forget([s], known)
    if value is not None:
        known[s.writes[0].resolve()] = value


def _forget(written: Sequence[Step], known: dict[Slot, int]) -> None:
    for s in written:
        for slot in s.writes:
            known.pop(slot.resolve(), None)


def _value(slot: Slot, known: dict[Slot, int]) -> int | None:
    slot = slot.resolve()
    if slot.kind != CONSTANT or slot.size != 1 or not _is_whole(slot.dtype):
        return known.get(slot)
    return int(slot.data.reshape(-1)[0])


def _is_whole(dtype: str) -> bool:
    return dtype == "bool" or dtypes.is_int(dtype)


def _result(store: Store, values: dict[Buffer, int | None]) -> int | None:
    """The integer that a kernel of one store computes; None if it is no integer, or not known."""
    if not _is_whole(store.buffer.dtype) or store.buffer.size != 1:
        return None

    def change(e: Expr) -> Expr:
        value: Any = values.get(e.source) if isinstance(e, Load) else None
        return e if value is None or not _is_whole(e.dtype) else Const(value, e.dtype)

    simplified = Simplifier({})(rewrite(store.value, change))
    return simplified.int_value if isinstance(simplified, Const) else None
