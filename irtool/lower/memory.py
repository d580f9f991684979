"""Offsets of temporaries in one arena.

Liveness over the steps of a function gives each temporary an interval; values that need not be copied, or that may take the
place of another, share one. A function's frame holds its temporaries, its kernels' scratch memory and the frames of the
functions that it calls. Recursion has its frames in the region, which lies behind the frame of the entry.

Where memory is in pools, the frame of an entry lies in all of them; the frame of a function that others call is one buffer of its callers,
and so is the scratch memory of a kernel. Of the region, backends know the size: it lies behind everything else in the first pool with room.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Set
from typing import Any

from ..diagnostics import IrError
from ..symbolic_int import holds, planned
from ..tir.cycles import components
from ..tir.kernel import Kernel
from ..tir.mistakes import PoolsTooSmall
from ..tir.pools import Pool
from ..tir.program import (
    STATE,
    TEMP,
    Again,
    CallFunction,
    CopySlot,
    Fail,
    Fork,
    HostFunction,
    Loop,
    Program,
    RunKernel,
    SetLengths,
    Slot,
    Step,
    calls,
    runs_of,
)
from ..tir.region import RegionStep
from ..tir.stmt import Buffer
from ..tir.symbols import has_open_lengths, symbols_of_entries
from .giving import give_values
from .late_errors import keep_outputs_of_errors
from .mistakes import DynamicShape
from .overlaps import Overlap, find_overlaps
from .placing import ALIGNMENT, Interval, align, largest_live, place
from .placing_formulas import place_formulas
from .pools import place_in_pools
from .sharing import Moves, overlay, share_in_place, share_moved
from .states import settle_states
from .workspace import Workspace, plan_workspace


def plan_memory(program: Program, threads: int = 1, pools: Sequence[Pool] = (), overlap: bool = False) -> None:
    """Sets the offsets of all slots, workspaces and frames, and every function's `frame_bytes`, `live_bytes`, `pool_bytes`.

    Args:
        threads: how many a run has at most.
        pools: the parts of memory, where it is not one arena.
        overlap: whether outputs of kernels may overlap inputs that are read from low to high addresses. Compilers then know less about
            the memory of both, so that this is for processors with little of it.

    Raises:
        IrError: the pools are too small.
    """
    program.pools = tuple(pools)
    uses_region = program.uses_region
    may_end_early = uses_region or bool(program.failures)
    if has_open_lengths(program):
        _refuse_open_lengths(program)
    give_values(program)
    keep_outputs_of_errors(program)
    workspaces = {kernel: plan_workspace(kernel, threads) for kernel in program.kernels}
    overlaps = overlap and threads == 1 and not pools and not has_open_lengths(program)
    overlaps_of = {kernel: find_overlaps(kernel) for kernel in program.kernels} if overlaps else {}
    keeps_kernels = bool(pools) or has_open_lengths(program)
    scattered = {kernel for kernel, runs in runs_of(program).items() if len(runs) == 1} if not keeps_kernels else set()
    edges = {name: calls(f) for name, f in program.functions.items()}
    _choose_spread(program, edges)
    for group in components(edges):
        (name,) = group  # `recursion` leaves no functions that reach themselves
        _Frame(program, program.functions[name], workspaces, overlaps_of, scattered, may_end_early).plan()
    if pools:
        _settle_in_pools(program)


def _choose_spread(program: Program, edges: Mapping[str, Sequence[str]]) -> None:
    """Frames of entries that nobody calls lie in all the pools."""
    called = {c for names in edges.values() for c in names}
    entries = program.entry_names
    for f in program.functions.values():
        f.in_pools = bool(program.pools) and f.name in entries and f.name not in called


def _settle_in_pools(program: Program) -> None:
    """The pools of entries whose frames lie whole in one: the first with room."""
    for name in program.entry_names:
        f = program.functions[name]
        if not f.in_pools:
            used, homeless = place_in_pools([Interval(f.frame_bytes, 0, 0)], program.pools)
            if homeless is not None:
                raise _no_room(program, f, f"the frame of @{name}", f.frame_bytes)
            f.pool_bytes = tuple(used)


def _refuse_open_lengths(program: Program) -> None:
    """Raises IrError if lengths without bounds go with memory of a known size."""
    what = (
        "workspace pools have"
        if program.pools
        else "the region of data and recursion has"
        if program.uses_region
        else ""
    )
    name = next(n for n in program.entry_names if program.functions[n].states) if _has_states(program) else ""
    what = what or (f"the states of @{name} have" if name else "")
    if what:
        length = next(s.name for s in symbols_of_entries(program) if not s.is_bounded)
        raise IrError(
            f"{what} a known size, and nothing bounds the length {length}",
            help=f"give it a bound: --dim '{length}<=512'",
            code=DynamicShape,
        )


def _has_states(program: Program) -> bool:
    return any(program.functions[n].states for n in program.entry_names)


def _no_room(program: Program, function: HostFunction, buffer: str, size: int) -> IrError:
    few = ", ".join(map(str, program.pools))
    live = f"{function.live_bytes} bytes of @{function.name} are alive at one time"
    return IrError(
        f"the workspace pools are too small: {buffer}, {size} bytes, fits in none of {few}",
        help=f"{live}, and {ALIGNMENT} bytes of each pool are for its alignment; a last pool without a size hint takes the "
        "buffers that fit in no other",
        code=PoolsTooSmall,
    )


class _Frame:
    """The plan of one function's frame."""

    def __init__(
        self,
        program: Program,
        function: HostFunction,
        workspaces: Mapping[Kernel, Workspace],
        overlaps: Mapping[Kernel, Sequence[Overlap]],
        scattered: Set[Kernel],
        may_end_early: bool,
    ) -> None:
        self.program = program
        self.function = function
        self.workspaces = workspaces
        self.overlaps = overlaps
        self.scattered = scattered
        self.may_end_early = may_end_early
        self.intervals: dict[Slot, Interval] = {}
        self.scratch: list[tuple[Step, Interval]] = []
        self.scattered_buffers: list[tuple[RunKernel, Buffer, Interval]] = []
        """Scratch memory of kernels that are called once (`scattered`): every buffer has a place of its own."""
        self.ordered: list[tuple[int, Step]] = []
        self.moves = Moves()
        self.clock = 0

    def plan(self) -> None:
        """Gives everything in the frame its offset."""
        stages = {kernel: w.stages for kernel, w in self.workspaces.items()}
        settle_states(self.function, stages, self.may_end_early)
        self._walk()
        groups = share_in_place(self.ordered, self.intervals, stages)
        share_moved(self.ordered, self.moves, self.intervals, groups, stages)
        for clock, s in self.ordered:
            if isinstance(s, RunKernel) and s.kernel in self.overlaps:
                overlay(s, clock, self.overlaps[s.kernel], groups, stages[s.kernel])
        items = [*dict.fromkeys(groups.values()), *(i for _, i in self.scratch)]
        items += [i for _, _, i in self.scattered_buffers]
        total, lower = self._place(items, groups)
        for slot, interval in groups.items():
            slot.offset = interval.offset
        for run, buffer, interval in self.scattered_buffers:
            # Its scratch memory begins where the frame does.
            assert run.kernel.placement is not None
            run.kernel.placement.offsets[buffer] = interval.offset
        for step, interval in self.scratch:
            if isinstance(step, RunKernel):
                step.workspace = interval.offset
            else:
                assert isinstance(step, CallFunction)
                step.frame = interval.offset
        for _, s in self.ordered:
            if isinstance(s, RunKernel):
                pairs = [(x.input, x.output) for x in self.overlaps.get(s.kernel, ())]
                _note_overlaps(s, [*stages[s.kernel].in_turn, *pairs])
        self.function.frame_bytes = total
        self.function.live_bytes = lower

    def _place(self, items: Sequence[Interval], groups: Mapping[Slot, Interval]) -> tuple[int, int]:
        """Chooses the offsets; the bytes of the frame, and the most of them that are alive at one time."""
        f = self.function
        if not self.program.pools:
            return place_formulas(items)
        f.live_bytes = largest_live(items)
        if not f.in_pools:
            return place(items)
        used, homeless = place_in_pools(items, self.program.pools)
        if homeless is not None:
            raise _no_room(self.program, f, self._what(homeless, groups), homeless.size)
        f.pool_bytes = tuple(used)
        return sum(used), f.live_bytes

    def _what(self, interval: Interval, groups: Mapping[Slot, Interval]) -> str:
        """Name of the owner of an interval, for messages."""
        for slot, i in groups.items():
            if i is interval:
                return f"the value {slot.name}: {slot.dtype}[{', '.join(map(str, slot.shape))}]"
        step = next(s for s, i in self.scratch if i is interval)
        if isinstance(step, RunKernel):
            return f"the scratch memory of {step.kernel.name}"
        assert isinstance(step, CallFunction)
        return f"the frame of @{step.function}"

    def _walk(self) -> None:
        """Steps in order, a kernel's stages each counted as one; a branch's results live from its beginning, loop-carried
        slots from the loop's beginning to its end.

        An iteration ends with the arm that it ends in: nothing of the arms beside and of the bodies after that is run any more.
        """
        stack: list[tuple[Any, bool]] = []
        self._enter(stack, self.function.body, True)
        while stack:
            s, ends = stack.pop()
            if not isinstance(s, Step):
                s()
                continue
            self.ordered.append((self.clock, s))
            if isinstance(s, RunKernel):
                self._run(s)
            elif isinstance(s, CallFunction):
                self._call(s)
            elif isinstance(s, Fail | RegionStep):
                for slot in s.inputs:
                    self._touch(slot, self.clock, True)
                self._touch_all(s.outputs)
            elif isinstance(s, SetLengths):
                self._touch(s.values, self.clock, True)
            elif isinstance(s, CopySlot):
                self._touch(s.source, self.clock, True)
                self._touch(s.target, self.clock)
                self.moves.add(self.clock, s)
            elif isinstance(s, Loop):
                self.moves.state.update(dict.fromkeys(s.state))
                stack.append((lambda s=s: self._touch_all(s.state), False))
                for body in reversed(s.bodies):
                    self._enter(stack, body, ends)
                self._touch_all(s.state)
            elif isinstance(s, Fork):
                for slot in s.reads:
                    self._touch(slot, self.clock, True)
                self._touch_all(s.results)
                for arm in reversed(s.arms):
                    self._enter(stack, arm, ends)
            else:
                assert isinstance(s, Again)
                for slot in s.unchanged:
                    self._touch(slot, self.clock, True)
            self.clock += 1

    def _enter(self, stack: list[tuple[Any, bool]], body: Sequence[Step], ends: bool) -> None:
        """Puts a body onto the stack; where an iteration may end with it, between marks."""
        if ends:
            stack.append((lambda: self.moves.leave(self.clock), False))
        stack.extend((s, ends and n == 0) for n, s in enumerate(reversed(body)))
        if ends:
            stack.append((lambda: self.moves.enter(self.clock), False))

    def _touch(self, slot: Slot, time: int, reads: bool = False) -> None:
        slot = slot.resolve()
        if slot.kind == TEMP:
            interval = self.intervals.setdefault(slot, Interval(align(planned(slot.nbytes)), time, time))
            interval.first = min(interval.first, time)
            interval.last = max(interval.last, time)
            if reads:
                self.moves.read(slot, time)

    def _touch_all(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            self._touch(slot, self.clock)

    def _run(self, s: RunKernel) -> None:
        workspace = self.workspaces[s.kernel]
        stages = workspace.stages
        for slot, stage in zip(s.inputs, stages.read):
            self._touch(slot, self.clock + stage, True)
        for slot, stage in zip(s.outputs, stages.written):
            self._touch(slot, self.clock + stage)
        end = self.clock + stages.count - 1
        for slot in s.outputs:
            self._touch(slot, end)
        if s.kernel in self.scattered:
            self.scattered_buffers += [(s, b, i.later(self.clock)) for b, i in workspace.buffers.items()]
        elif s.kernel.has_workspace:
            begin, stop = stages.workspace
            self.scratch.append((s, Interval(s.kernel.workspace, self.clock + begin, self.clock + stop)))
        self.clock = end

    def _call(self, s: CallFunction) -> None:
        for slot in s.inputs:
            self._touch(slot, self.clock, True)
        for slot in s.outputs:
            self._touch(slot, self.clock)
        callee = self.program.functions[s.function]
        if callee.frame_bytes:
            self.scratch.append((s, Interval(callee.frame_bytes, self.clock, self.clock)))


def _note_overlaps(s: RunKernel, pairs: Sequence[tuple[int, int]]) -> None:
    """Notes in the kernel's placement which of these inputs and outputs share memory in this call."""
    assert s.kernel.placement is not None
    overlaps = s.kernel.placement.overlapping
    for i, o in pairs:
        a, b = s.inputs[i].resolve(), s.outputs[o].resolve()
        if (i, o) in overlaps:
            continue
        if a is b and a.kind == STATE:
            overlaps.append((i, o))
        if a.kind != TEMP or b.kind != TEMP:
            continue
        assert a.offset is not None and b.offset is not None
        ends = a.offset + align(planned(a.nbytes)), b.offset + align(planned(b.nbytes))
        if not holds(operator.ge, a.offset, ends[1]) and not holds(operator.ge, b.offset, ends[0]):
            overlaps.append((i, o))
