"""Outputs of runs that end with an error stay as they were.

An entry returns an error where a value decides an extent beyond its bounds, a region is full, no clause of a match fits, or the memory of
the caller's values is full. A result that
steps may have begun by then is computed in a temporary, and copied to the caller's memory at the end; other results are written in place. ::

    run add(x) -> out0                      run add(x) -> out0_whole
    set count_0 from n, or return 6   ⇒     set count_0 from n, or return 6
    run cut(x) -> out1                      run cut(x) -> out1
                                            copy out0_whole to out0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..tir.cycles import components
from ..tir.program import (
    Again,
    CallFunction,
    CopySlot,
    Fail,
    Fork,
    HostFunction,
    Loop,
    Program,
    SetLengths,
    Slot,
    Step,
    calls,
    steps,
)
from ..tir.region import Give, MakeObject, Push, Resume
from .giving import compute_elsewhere


def keep_outputs_of_errors(program: Program) -> None:
    """Makes entries copy those results at their end that they may write before a step that ends the run with an error."""
    effects: dict[str, _Effects] = {}
    for group in components({name: calls(f) for name, f in program.functions.items()}):
        for name in group:
            f = program.functions[name]
            effects[name] = _effects(f, effects)
            if name in program.entry_names:
                _copy_at_end(f, effects[name].begun)
                effects[name] = _Effects(effects[name].fails, ())


@dataclass(frozen=True)
class _Effects:
    """The possible errors of a function, with the results that may be partly written by then."""

    fails: bool
    begun: Sequence[int]


class _Counts:
    """The number of steps of some kind in each part of an order."""

    def __init__(self, is_of_kind: Sequence[bool]) -> None:
        self._before = [0, *accumulate(map(int, is_of_kind))]

    def any(self, begin: int, end: int) -> bool:
        """True if there is one from `begin` on, before `end`."""
        return self._before[end] > self._before[begin]


@dataclass(frozen=True)
class _Part:
    """A body: its steps in the order, whether an error may follow it, and whether one may end a further turn of its loop."""

    begin: int
    end: int
    before_error: bool
    turns_may_fail: bool


def _effects(f: HostFunction, callees: Mapping[str, _Effects]) -> _Effects:
    order = steps(f.body)
    failing = [_may_fail(s, callees) for s in order]
    if not any(failing):
        return _Effects(False, ())
    fails, turns = _Counts(failing), _Counts([isinstance(s, Again | Resume) for s in order])
    results = {r.resolve() for r in f.results}
    ends = _ends(order)
    begun: set[Slot] = set()
    stack = [_Part(0, len(order), False, False)]
    while stack:
        part = stack.pop()
        n = part.begin
        while n < part.end:
            s, behind = order[n], ends[n]
            later = part.before_error or fails.any(behind, part.end)
            later = later or (part.turns_may_fail and turns.any(behind, part.end))
            if isinstance(s, Fork | Loop):
                again = part.turns_may_fail if isinstance(s, Fork) else later or fails.any(n, behind)
                stack += [_Part(begin, end, later, again) for begin, end in _bodies(s, n + 1, ends)]
            else:
                written = s.writes if later or isinstance(s, MakeObject) else _begun_by_callee(s, callees)
                begun.update(x for x in map(Slot.resolve, written) if x in results)
            n = behind
    return _Effects(True, [n for n, r in enumerate(f.results) if r.resolve() in begun])


def _may_fail(s: Step, callees: Mapping[str, _Effects]) -> bool:
    if isinstance(s, CallFunction):
        return callees[s.function].fails
    return isinstance(s, Fail | SetLengths | MakeObject | Push | Give)


def _begun_by_callee(s: Step, callees: Mapping[str, _Effects]) -> list[Slot]:
    """The outputs of a call that its callee may begin before an error."""
    if not isinstance(s, CallFunction):
        return []
    callee = callees[s.function]
    return [s.outputs[n] for n in callee.begun]


def _ends(order: Sequence[Step]) -> list[int]:
    """For each step, the place behind it and the steps in it."""
    ends = [0] * len(order)
    for n in reversed(range(len(order))):
        s = order[n]
        ends[n] = max([n + 1, *(end for _, end in _bodies(s, n + 1, ends))]) if isinstance(s, Fork | Loop) else n + 1
    return ends


def _bodies(s: Fork | Loop, begin: int, ends: Sequence[int]) -> list[tuple[int, int]]:
    """The places of the bodies of a step, the first of which begins there."""
    result = []
    for body in s.arms if isinstance(s, Fork) else s.bodies:
        end = begin
        for _ in body:
            end = ends[end]
        result.append((begin, end))
        begin = end
    return result


def _copy_at_end(f: HostFunction, begun: Sequence[int]) -> None:
    for slot in dict.fromkeys(f.results[n].resolve() for n in begun):
        f.body.append(CopySlot(slot, compute_elsewhere(f, slot, "whole")))
