"""Recursion with frames in the region: functions that call themselves become loops with a stack of values.

::

    f(n) = if n == 0 { a } else { g(n, f(n - 1)) }
        ⇒   push ; loop { body 0: if n == 0 { r = a; resume } else { push n, body 1; n = n - 1; again body 0 }
                          body 1: t = r; pop n; r = g(n, t); resume
                          body 2: pop; result = r }

A frame holds the values that steps after the call read, and the number of the body with these steps. Extents that follow from values are set
again after the call, from tensors in the frame. All functions that reach each other
are bodies of one loop, so that C's stack does not grow. Calls that a function ends with push nothing: see `loops` for functions with no
other calls of themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..diagnostics import IrError
from ..tir.cycles import components
from ..tir.program import (
    CONSTANT,
    STATE,
    TEMP,
    Again,
    CallFunction,
    CopySlot,
    Fail,
    Fork,
    HostFunction,
    Loop,
    SetLengths,
    Slot,
    Step,
    calls,
    steps,
)
from ..tir.region import Pop, Push, Resume
from ..trampoline import trampoline
from .loops import parallel_moves, parameter_values, step_elsewhere, tail_calls
from .mistakes import DynamicShape

Emitted = Generator[Any, Any, list[Step]]


def frames_on_stack(functions: Mapping[str, HostFunction], entries: Iterable[str]) -> dict[str, HostFunction]:
    """The functions that the entries reach, with loops for those that reach themselves other than by calls that they end with.

    A loop holds the bodies of its whole group, so only functions called from outside of their group get one: a ring of n functions is
    lowered once, not n times.
    """
    plans = _plans(functions)
    result: dict[str, HostFunction] = {}
    stack = list(entries)
    while stack:
        name = stack.pop()
        if name not in result:
            group, ends = plans.get(name, ([], set()))
            result[name] = _OnStack(functions, name, group, ends).build() if group else functions[name]
            stack += calls(result[name])
    return {n: result[n] for n in functions if n in result}


def _plans(functions: Mapping[str, HostFunction]) -> dict[str, tuple[list[str], set[CallFunction]]]:
    """For each function with a call of its group that is not its end, the group and the calls that functions of the group end with."""
    plans: dict[str, tuple[list[str], set[CallFunction]]] = {}
    for group in components({name: calls(f) for name, f in functions.items()}):
        inside = set(group)
        ends = {s for n in group for s in tail_calls(functions[n])}
        every = (s for n in group for s in steps(functions[n].body) if isinstance(s, CallFunction))
        if any(s.function in inside and s not in ends for s in every):
            plans |= dict.fromkeys(group, (group, ends))
    return plans


class _OnStack:
    """One function as a loop over the bodies of its group and the bodies after their calls."""

    def __init__(
        self,
        functions: Mapping[str, HostFunction],
        name: str,
        group: Sequence[str],
        ends: set[CallFunction],
    ) -> None:
        self.start = functions[name]
        names = [name, *(n for n in group if n != name)]
        self.number = {n: i for i, n in enumerate(names)}
        self.members = [functions[n] for n in names]
        for m in self.members:
            _require_lengths_on_all_ways(m)
        self.ends = ends
        self.places: dict[Slot, Slot] = {}
        self.params: dict[Slot, Slot] = {}
        every = [s for m in self.members for s in steps(m.body) if isinstance(s, CallFunction)]
        inside = [s for s in every if s.function in self.number]
        for param, same in parameter_values(self.start, self.members, self.number, inside).items():
            if same is None:
                same = self.params[param] = Slot(param.name, param.shape, param.dtype)
            self.places[param] = same
        self.results: list[list[Slot]] = []
        self._place_results()
        self.bodies: list[list[Step]] = [[] for _ in names]
        self.owners: list[int] = list(range(len(names)))
        self.outputs: dict[int, set[Slot]] = {}
        """For each body after a call, the slots with the call's results, where these lie already or are moved to."""
        self.needed: dict[int, dict[Slot, None]] = {}
        """For each body after a call, the slots in its frame."""
        self.live: dict[int, dict[Slot, None]] = {}

    def _place_results(self) -> None:
        """Functions whose results have the same types share slots, so that a call at the end of one gives back the other's."""
        shared: dict[tuple[Any, ...], list[Slot]] = {}
        for m in self.members:
            key = tuple((s.size, s.dtype) for s in m.results)
            slots = shared.setdefault(key, [Slot(s.name, s.shape, s.dtype) for s in m.results])
            self.results.append(slots)
            self.places.update(zip(m.results, slots, strict=True))

    def build(self) -> HostFunction:
        for n, m in enumerate(self.members):
            self.bodies[n] = trampoline(self._emit(m.body, None, n, []))
        last = self._body_after(0)
        copies = [CopySlot(s, r) for s, r in zip(self.results[0], self.start.results, strict=True)]
        self.bodies[last] = [*copies, Pop([])]
        self._find_live()
        self._fill_frames()
        state = dict.fromkeys(self.params.values())
        for body in self.live.values():
            state.update(body)
        f = self.start
        begin: list[Step] = [CopySlot(p, self.params[p]) for p in f.params if p in self.params]
        lengths = tuple(dict.fromkeys(s for m in self.members for s in m.lengths))
        return replace(f, body=[*begin, Push([], last), Loop(self.bodies, list(state))], lengths=lengths)

    # -- bodies --------------------------------------------------------------------------------------------------------

    def _body_after(self, owner: int) -> int:
        """The number of a new body, which is run after a call."""
        self.bodies.append([])
        self.owners.append(owner)
        number = len(self.bodies) - 1
        self.needed[number] = {}
        return number

    def _emit(self, body: Sequence[Step], then: int | None, owner: int, lengths: Sequence[SetLengths]) -> Emitted:
        """The steps, with the way to the body `then` at the end, or out of the function. `lengths` are set before them: bodies that other
        calls have run before set them again, from the tensors in their frame."""
        out: list[Step] = []
        set_before = list(lengths)
        for n, s in enumerate(body):
            if isinstance(s, SetLengths):
                set_before.append(s)
            if isinstance(s, CallFunction) and s.function in self.number:
                callee = self.number[s.function]
                arguments = self._arguments(s, callee)
                if s in self.ends and self.results[callee] is self.results[owner]:
                    return [*out, *arguments, Again(callee)]
                after = self._body_after(owner)
                sources = {self._place(t): r for t, r in zip(s.outputs, self.results[callee], strict=True)}
                moves = parallel_moves(sources)
                self.outputs[after] = set(sources)
                behind = yield self._emit(body[n + 1 :], then, owner, set_before)
                self.bodies[after] = [*moves, Pop([]), *self._again(set_before), *behind]
                return [*out, Push([], after), *arguments, Again(callee)]
            if isinstance(s, Fork) and self._calls_inside(s):
                rest = then
                if len(body) > n + 1:
                    self.bodies.append([])
                    self.owners.append(owner)
                    rest = len(self.bodies) - 1
                    behind = yield self._emit(body[n + 1 :], then, owner, set_before)
                    self.bodies[rest] = [*self._again(set_before), *behind]
                arms = []
                for arm in s.arms:
                    arms.append((yield self._emit(arm, rest, owner, set_before)))
                return [*out, s.elsewhere(self._place, arms)]
            out.append((yield self._copied(s)))
        return [*out, Resume() if then is None else Again(then)]

    def _again(self, lengths: Sequence[SetLengths]) -> list[Step]:
        return [step_elsewhere(s, self._place) for s in lengths]

    def _copied(self, s: Step) -> Generator[Any, Any, Step]:
        if not isinstance(s, Fork):
            return step_elsewhere(s, self._place)
        arms: list[list[Step]] = []
        for arm in s.arms:
            copies = []
            for x in arm:
                copies.append((yield self._copied(x)))
            arms.append(copies)
        return s.elsewhere(self._place, arms)

    def _calls_inside(self, s: Fork) -> bool:
        return any(isinstance(x, CallFunction) and x.function in self.number for x in steps([s]))

    def _arguments(self, s: CallFunction, callee: int) -> list[CopySlot]:
        params = self.members[callee].params
        return parallel_moves({self.params[p]: self._place(x) for x, p in zip(s.inputs, params) if p in self.params})

    def _place(self, slot: Slot) -> Slot:
        """The slot that stands for one of a member's."""
        slot = slot.resolve()
        if slot.kind in (CONSTANT, STATE):
            return slot
        if slot not in self.places:
            assert slot.kind == TEMP
            self.places[slot] = Slot(slot.name, slot.shape, slot.dtype)
        return self.places[slot]

    # -- values that are needed later ----------------------------------------------------------------------------------

    def _find_live(self) -> None:
        """The slots that each body reads before it writes them, and those in its frame: the least that agree with each other."""
        self.live = {n: {} for n in range(len(self.bodies))}
        changed = True
        while changed:
            changed = False
            for n in reversed(range(len(self.bodies))):
                before, frame = len(self.live[n]), len(self.needed.get(n, ()))
                self.live[n].update(trampoline(self._live(self.bodies[n], {}, n)))
                changed |= before != len(self.live[n]) or frame != len(self.needed.get(n, ()))

    def _live(
        self, body: Sequence[Step], after: dict[Slot, None], number: int
    ) -> Generator[Any, Any, dict[Slot, None]]:
        """The slots that are needed before steps of a body, for those needed after them."""
        live = dict(after)
        for s in reversed(body):
            if isinstance(s, Again):
                live = dict(self.live[s.body])
            elif isinstance(s, Resume):
                live = dict.fromkeys(self.results[self.owners[number]])
            elif isinstance(s, Fail):
                live = {}
            elif isinstance(s, Fork):
                before: dict[Slot, None] = {}
                for arm in s.arms:
                    before.update((yield self._live(arm, live, number)))
                live = {**before, **_own(s.reads)}
            elif isinstance(s, Push):
                live.update(self.needed[s.body])
            elif isinstance(s, Pop):
                written = self.outputs.get(number, set())
                self.needed[number].update({x: None for x in live if x not in written})
                live = {x: None for x in live if x in written}
            else:
                live = {x: None for x in live if x not in s.writes}
                live.update(_own(s.reads))
        return live

    def _fill_frames(self) -> None:
        """Gives the steps the slots that they push, pop and keep."""
        for n, body in enumerate(self.bodies):
            stack = [body]
            while stack:
                assigned: set[Slot] = set()
                for s in stack.pop():
                    if isinstance(s, Fork):
                        stack += s.arms
                    elif isinstance(s, Push):
                        s.inputs = list(self.needed[s.body])
                    elif isinstance(s, Pop):
                        s.outputs = list(self.needed[n])
                    elif isinstance(s, Again):
                        s.unchanged = [x for x in self.live[s.body] if x not in assigned]
                    elif isinstance(s, Resume):
                        s.inputs = list(self.results[self.owners[n]])
                    if isinstance(s, CopySlot):
                        assigned.add(s.target)


def _require_lengths_on_all_ways(f: HostFunction) -> None:
    """Raises IrError for a function in which the arms of a branch set a length that steps behind the branch have: which arm's tensor has its
    value is not known behind a call."""
    branches = (s for s in steps(f.body) if isinstance(s, Fork) and len(s.arms) > 1)
    for s in branches:
        if set.intersection(
            *({x for t in steps(arm) if isinstance(t, SetLengths) for x in t.symbols} for arm in s.arms)
        ):
            raise IrError(
                f"@{f.name} calls itself and goes on after that, and extents in it follow from the arms of a branch",
                code=DynamicShape,
            )


def _own(slots: Iterable[Slot]) -> dict[Slot, None]:
    """Slots in the function's frame."""
    return {s: None for s in slots if s.kind == TEMP}
