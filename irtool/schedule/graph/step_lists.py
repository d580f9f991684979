"""Lists of consecutive steps, and the steps that name each slot, for fusers of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...tir.kernel import Kernel
from ...tir.program import Fork, HostFunction, Loop, Program, RunKernel, Slot, kernels_in_use, steps

_OUTSIDE = 0
"""The caller, among the steps that name a slot."""


class Mentions:
    """The steps of a function, by identity, that name each slot. The caller names parameters, results and states of the function."""

    def __init__(self, f: HostFunction) -> None:
        self._steps: dict[int, object] = {id(s): s for s in steps(f.body)}
        self._names: dict[Slot, set[int]] = {}
        for s in steps(f.body):
            for slot in (*s.reads, *s.writes):
                self.of(slot).add(id(s))
        for slot in f.outer:
            self.of(slot).add(_OUTSIDE)

    def of(self, slot: Slot) -> set[int]:
        """The identities of the steps that name a slot."""
        return self._names.setdefault(slot.resolve(), set())

    def steps(self, slot: Slot) -> list[object]:
        """The steps that name a slot; None is the caller."""
        return [self._steps.get(n) for n in self.of(slot)]

    def are_all(self, slot: Slot, named: Sequence[object]) -> bool:
        """True if exactly these steps name a slot."""
        return self.of(slot) == {id(s) for s in named}

    def fused(self, old: Sequence[RunKernel], new: RunKernel) -> None:
        """Records that one step runs in place of others."""
        for s in old:
            for slot in (*s.inputs, *s.outputs):
                self.of(slot).discard(id(s))
        self._steps[id(new)] = new
        for slot in (*new.inputs, *new.outputs):
            self.of(slot).add(id(new))


def rewrite_step_lists(program: Program, change: Callable[[list, Mentions], None]) -> None:
    """Calls `change` for every list of consecutive steps, which it may change in place."""
    for f in program.functions.values():
        mentions = Mentions(f)
        for body in _lists(f):
            change(body, mentions)
    program.kernels = kernels_in_use(program)


def _lists(f: HostFunction) -> Iterator[list]:
    yield f.body
    for s in steps(f.body):
        if isinstance(s, Fork):
            yield from s.arms
        elif isinstance(s, Loop):
            yield from s.bodies


def fused_facts(kernels: Sequence[Kernel]) -> dict[str, Any]:
    """The name, operators and calls of a kernel merged from several, as arguments of `Kernel`."""
    prefix = "tvmgen_default_fused"
    first, *rest = (k.name for k in kernels)
    return {
        "name": first + "".join(n[len(prefix) :] if n.startswith(prefix) else f"_{n}" for n in rest),
        "operators": tuple(o for k in kernels for o in k.operators),
        "calls": tuple(c for k in kernels for c in k.calls),
    }
