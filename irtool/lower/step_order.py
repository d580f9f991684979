"""The order of steps: those for a result run as soon as their operands are there.

A function is lowered result by result. Of a training step, whose results are updated weights, the first one needs all of the backward pass, so
that values for the others, of all layers, would be alive at one time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic_int import planned
from ..tir.program import TEMP, CopySlot, HostFunction, Program, RunKernel, Slot, Step
from .placing import Interval, live_sums


def order_steps(program: Program) -> None:
    """Orders the steps of functions without branches and loops where less memory is then alive at one time.

    Results come in order of the longest chain of steps that leads to each, and steps for one of them in the order that they had.
    """
    for f in program.functions.values():
        if len(f.body) < 2 or not all(isinstance(s, RunKernel | CopySlot) for s in f.body):
            continue
        body = _by_depth(f.body, _dependences(f))
        if body is not None and _most_live(body) < _most_live(f.body):
            f.body[:] = body


def _dependences(f: HostFunction) -> list[list[int]]:
    """For each step, the steps before which it may not run."""
    writers: dict[Slot, int] = {}
    readers: dict[Slot, list[int]] = {}
    result: list[list[int]] = []
    for n, s in enumerate(f.body):
        before: dict[int, None] = {}
        for slot in s.reads:
            slot = slot.resolve()
            if slot in writers:
                before[writers[slot]] = None
            readers.setdefault(slot, []).append(n)
        for slot in s.writes:
            slot = slot.resolve()
            if slot in writers:
                before[writers[slot]] = None
            before.update(dict.fromkeys(readers.get(slot, ())))
            writers[slot] = n
        before.pop(n, None)
        result.append(list(before))
    for state in f.states:
        # The next value is computed in the memory of the state if every read of the old value comes before.
        writer = writers.get(state.next.resolve())
        if writer is not None:
            result[writer] += [r for r in readers.get(state.slot.resolve(), ()) if r < writer]
    return result


def _by_depth(steps: Sequence[Step], before: Sequence[Sequence[int]]) -> list[Step] | None:
    """The steps in the new order; None if that is the old one."""
    depths = [0] * len(steps)
    is_last = [True] * len(steps)
    for n, others in enumerate(before):
        depths[n] = 1 + max((depths[o] for o in others), default=0)
        for o in others:
            is_last[o] = False
    order: list[int] = []
    ordered = [False] * len(steps)
    for end in sorted((n for n in range(len(steps)) if is_last[n]), key=lambda n: depths[n]):
        chain, stack = [], [end]
        ordered[end] = True
        while stack:
            n = stack.pop()
            chain.append(n)
            for o in before[n]:
                if not ordered[o]:
                    ordered[o] = True
                    stack.append(o)
        order += sorted(chain)
    return [steps[n] for n in order] if order != sorted(order) else None


def _most_live(body: Sequence[Step]) -> int:
    """The largest sum of the sizes of temporaries between their first and their last use."""
    first: dict[Slot, int] = {}
    last: dict[Slot, int] = {}
    for n, s in enumerate(body):
        for slot in (*s.reads, *s.writes):
            slot = slot.resolve()
            if slot.kind == TEMP:
                first.setdefault(slot, n)
                last[slot] = n
    return max(live_sums([Interval(planned(x.nbytes), n, last[x]) for x, n in first.items()], len(body)))
