"""Tail calls as loops.

A function whose last step is a call of itself (in a branch, or not), and that gives back what the call does, need not keep its
frame: the call becomes another iteration of a loop. So do the calls that functions end with where they call each other in turn.

A parameter has a slot in the frame that carries its value from one iteration to the next, unless it is the same in every iteration. The
values of the next iteration move to those slots at the end of one, all at the same time: see `parallel_moves`. Where the slots
allow it, memory planning lets a value be computed where it has to be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..tir.cycles import rings
from ..tir.dtypes import HANDLE
from ..tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    TEMP,
    Again,
    CallFunction,
    CopySlot,
    Fork,
    HostFunction,
    Loop,
    RunKernel,
    SetLengths,
    Slot,
    Step,
    calls,
)
from ..tir.region import Collect, Invocation


def loop_tail_calls(
    functions: Mapping[str, HostFunction], entries: Iterable[str], collects: bool = False
) -> dict[str, HostFunction]:
    """The functions with loops for the tail calls by which they reach themselves; those that nobody calls any more are left
    out. If the program makes objects, loops `collect` those that nothing leads to at the end of each turn."""
    ends = {name: tail_calls(f) for name, f in functions.items()}
    groups = rings({name: [s.function for s in callees] for name, callees in ends.items()})
    looped: dict[str, HostFunction] = {}
    stack = list(entries)
    while stack:
        name = stack.pop()
        if name not in looped:
            looped[name] = (
                _Looped(functions, name, groups[name], ends, collects).build() if name in groups else functions[name]
            )
            stack.extend(calls(looped[name]))
    return {n: looped[n] for n in functions if n in looped}


def tail_calls(function: HostFunction) -> list[CallFunction]:
    """Calls after which the function has nothing to do but to give back their results as its own."""
    result: list[CallFunction] = []
    stack = [function.body]
    while stack:
        body = stack.pop()
        last = _last(body)
        s = body[last] if last >= 0 else None
        if isinstance(s, Fork):
            stack += reversed(s.arms)
        elif isinstance(s, CallFunction) and [x.resolve() for x in s.outputs] == function.results:
            result.append(s)
    return result


def _last(body: Sequence[Step]) -> int:
    """The place of the last step that matters if the function ends with this body, or -1."""
    last = len(body) - 1
    while last >= 0 and _is_in_vain(body[last]):
        last -= 1
    return last


def _is_in_vain(s: Step) -> bool:
    written = s.outputs if isinstance(s, RunKernel) else [s.target] if isinstance(s, CopySlot) else None
    return written is not None and all(x.resolve().kind == TEMP for x in written)


class _Looped:
    """One function as a loop over the bodies of its group."""

    def __init__(
        self,
        functions: Mapping[str, HostFunction],
        name: str,
        group: Sequence[str],
        ends: Mapping[str, Sequence[CallFunction]],
        collects: bool,
    ) -> None:
        self.collects = collects
        self.start = functions[name]
        names = [name, *(n for n in group if n != name)]
        self.number = {n: i for i, n in enumerate(names)}
        self.members = [functions[n] for n in names]
        self.ends = dict.fromkeys(s for n in names for s in ends[n] if s.function in self.number)
        self.places: dict[Slot, Slot] = {}
        for m in self.members:
            self.places.update(zip(m.results, self.start.results))
        self.state: dict[Slot, Slot] = {}
        for param, same in parameter_values(self.start, self.members, self.number, self.ends).items():
            if same is None:
                same = self.state[param] = Slot(param.name, param.shape, param.dtype)
            self.places[param] = same

    def build(self) -> HostFunction:
        f = self.start
        bodies = [self._body(m.body) for m in self.members]
        begin = [CopySlot(p, self.state[p]) for p in f.params if p in self.state]
        body: list[Step] = [*begin, Loop(bodies, list(self.state.values()))]
        lengths = dict.fromkeys(s for m in self.members for s in m.lengths)
        return replace(f, body=body, lengths=tuple(lengths))

    def _body(self, root: Sequence[Step]) -> list[Step]:
        steps: list[Step] = []
        stack: list[tuple[Sequence[Step], list[Step], bool]] = [(root, steps, True)]
        while stack:
            body, out, ends = stack.pop()
            last = _last(body) if ends else len(body) - 1
            for n, s in enumerate(body[: last + 1]):
                if isinstance(s, Fork):
                    fork = s.elsewhere(self._place, [[] for _ in s.arms])
                    stack += reversed([(a, b, ends and n == last) for a, b in zip(s.arms, fork.arms, strict=True)])
                    out.append(fork)
                elif isinstance(s, CallFunction) and s in self.ends:
                    out += self._iteration(s)
                else:
                    out.append(step_elsewhere(s, self._place))
        return steps

    def _place(self, slot: Slot) -> Slot:
        """The slot that stands for one of a member's."""
        slot = slot.resolve()
        if slot.kind == CONSTANT:
            return slot
        if slot not in self.places:
            assert slot.kind not in (PARAM, RESULT)
            self.places[slot] = Slot(slot.name, slot.shape, slot.dtype)
        return self.places[slot]

    def _iteration(self, s: CallFunction) -> list[Step]:
        """A call as the steps to the next iteration."""
        number = self.number[s.function]
        params = self.members[number].params
        moves = {self.state[p]: self._place(x) for x, p in zip(s.inputs, params) if p in self.state}
        handles = [t for t in moves if t.dtype == HANDLE]
        return [
            *parallel_moves(moves),
            *([Collect(handles, list(handles))] if self.collects else []),
            Again(number, [t for t, source in moves.items() if source is t]),
        ]


def parameter_values(
    start: HostFunction, members: Sequence[HostFunction], number: Mapping[str, int], ends: Iterable[CallFunction]
) -> dict[Slot, Slot | None]:
    """The value of each parameter of a group in all calls of each other: a parameter of the function that they begin with, or a constant;
    None if it is not always the same. `number` are the places of the members."""
    sources: dict[Slot, Slot | None] = {p: p for p in start.params}
    targets: dict[Slot, list[Slot]] = defaultdict(list)
    for s in ends:
        for source, target in zip(s.inputs, members[number[s.function]].params):
            targets[source.resolve()].append(target)
    changed = [s for s in targets if s.kind != PARAM or s in sources]
    while changed:
        source = changed.pop()
        value = sources[source] if source.kind == PARAM else source if source.kind == CONSTANT else None
        for target in targets[source]:
            if target not in sources or (sources[target] is not value and sources[target] is not None):
                sources[target] = None if target in sources else value
                changed += [target] if target in targets else []
    return sources


def step_elsewhere(s: Step, place: Callable[[Slot], Slot]) -> Step:
    """A step without steps inside, on other slots."""
    if isinstance(s, CopySlot):
        return CopySlot(place(s.source), place(s.target))
    if isinstance(s, SetLengths):
        return replace(s, values=place(s.values))
    assert isinstance(s, Invocation)
    return replace(s, inputs=[place(x) for x in s.inputs], outputs=[place(x) for x in s.outputs])


def parallel_moves(moves: Mapping[Slot, Slot]) -> list[CopySlot]:
    """Copies, one after the other, that give every target (the keys) the value that its source had before all of them.

    A target that nothing else reads any more is written first; a ring, such as two that are exchanged, is opened by a temporary.
    """
    sources = {target: source for target, source in moves.items() if target is not source}
    readers: dict[Slot, int] = dict.fromkeys(sources, 0)
    for source in sources.values():
        if source in readers:
            readers[source] += 1
    result: list[CopySlot] = []
    free = [t for t in sources if not readers[t]]
    while sources:
        if not free:
            target = next(iter(sources))
            before = Slot(f"{target.name}_before", target.shape, target.dtype)
            result.append(CopySlot(target, before))
            sources.update({t: before for t, s in sources.items() if s is target})
            free.append(target)
        target = free.pop(0)
        source = sources.pop(target)
        result.append(CopySlot(source, target))
        if source in readers and source in sources:
            readers[source] -= 1
            if not readers[source]:
                free.append(source)
    return result
