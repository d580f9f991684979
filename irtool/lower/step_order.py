"""The order of steps: that in which the least memory is alive at one time.

A function is lowered result by result. Of a training step, whose results are updated weights, the first one needs all of the backward pass, so
that values for the others, of all layers, would be alive at one time: the steps for a result run as soon as their operands are there. Of branches that
meet again, that one runs first whose result is small beside what it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic_int import planned
from ..tir.program import TEMP, CopySlot, HostFunction, Program, RunKernel, Slot, Step
from .least_peak import StepMemory, StepOrders
from .placing import align

_FEW = 1 << 11
"""The most steps for which the greedy order is computed: it compares all steps that may run next."""


def order_steps(program: Program) -> None:
    """Orders the steps of functions without branches and loops where less memory is then alive at one time.

    The order is the best one if the search of `StepOrders` ends. Otherwise it is the best of three: the present one, the greedy one, and that by depth, in which results come in order of the longest chain of steps that leads to each, and steps for one of them in the order that they had.
    """
    for f in program.functions.values():
        if len(f.body) < 2 or not all(isinstance(s, RunKernel | CopySlot) for s in f.body):
            continue
        before = _dependences(f)
        if all(n in others for n, others in enumerate(before[1:])):
            continue  # a chain: there is no other order
        orders = _orders(f.body, before)
        body = _best(orders, before, f.trains)
        if body is not None:
            f.body[:] = [f.body[n] for n in body]


def _best(orders: StepOrders, before: Sequence[Sequence[int]], trains: bool) -> list[int] | None:
    """The order with the least peak; None if no other has less than the present one.

    Of the orders of a training step with the same peak, the one with the least memory on average is best: at some peaks, values are computed
    again in place of being stored (`ram_limit`), and others remain.
    """
    present = list(range(len(before)))
    least = orders.peak(present)
    if least == orders.least() and not trains:
        return None
    best, area = present, orders.area(present) if trains else 0
    for order in (_by_depth(before), *([orders.greedy()] if len(before) <= _FEW else ())):
        peak, own = orders.peak(order), orders.area(order) if trains else 0
        if (peak, own) < (least, area):
            best, least, area = order, peak, own
    best = orders.best(least) or best
    return best if best is not present else None


def _orders(body: Sequence[Step], before: Sequence[Sequence[int]]) -> StepOrders:
    """The steps with the temporaries that they use, in bytes of the arena."""
    numbers: dict[Slot, int] = {}
    steps = []
    for s in body:
        temporaries = [x for x in dict.fromkeys(x.resolve() for x in (*s.reads, *s.writes)) if x.kind == TEMP]
        values = tuple(numbers.setdefault(x, len(numbers)) for x in temporaries)
        scratch, replaced = 0, []
        if isinstance(s, RunKernel):
            scratch = sum(align(planned(b.nbytes)) for b in s.kernel.temporaries)
            pairs = [(s.inputs[i].resolve(), s.outputs[o].resolve()) for i, o in s.kernel.in_place]
            replaced = [(numbers[a], numbers[b]) for a, b in pairs if a.kind == b.kind == TEMP and a is not b]
        steps.append(StepMemory(values, scratch, tuple(replaced)))
    return StepOrders(steps, before, [align(planned(x.nbytes)) for x in numbers])


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


def _by_depth(before: Sequence[Sequence[int]]) -> list[int]:
    """The steps, result by result, in order of the longest chain that leads to each."""
    depths = [0] * len(before)
    is_last = [True] * len(before)
    for n, others in enumerate(before):
        depths[n] = 1 + max((depths[o] for o in others), default=0)
        for o in others:
            is_last[o] = False
    order: list[int] = []
    ordered = [False] * len(before)
    for end in sorted((n for n in range(len(before)) if is_last[n]), key=lambda n: depths[n]):
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
    return order
