"""Offsets of temporaries in one arena.

Liveness over the steps of a function gives each temporary an interval. A kernel's stages count as steps of their own: an
output that is first written by a later stage than the last that reads an input may lie where the input did. An output may
also take the place of an input that dies at the same stage, where the kernel allows it. Offsets are chosen greedily, larger first, each at the lowest place free for
its interval (best of several orders, then of a bounded number of seeded exchanges). A function's frame holds its
temporaries, its kernels' scratch memory and the frames of the functions that it calls; a recursive callee's frame comes
behind the caller's.
"""

from __future__ import annotations

import heapq
import random
from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..tir.expr import Load, post_order
from ..tir.program import TEMP, Branch, CallFunction, CopySlot, HostFunction, Program, RunKernel, Slot, Step, steps
from ..tir.stmt import Allocate, Buffer, PrimFunc, Seq, Stmt, Store, expressions, pre_order

ALIGNMENT = 64
"""Bytes. Every offset is a multiple: a cache line, and the widest vector."""

_TRIES = 300
_MANY = 1500


def align(n: int) -> int:
    """`n` rounded up to the alignment."""
    return -(-n // ALIGNMENT) * ALIGNMENT


@dataclass(eq=False)
class Interval:
    """`size` bytes needed from step `first` to step `last` (both included)."""

    size: int
    first: int
    last: int
    offset: int = 0

    def later(self, steps: int) -> Interval:
        """The same, so many steps later, not placed yet."""
        return Interval(self.size, self.first + steps, self.last + steps)


def plan_memory(program: Program) -> None:
    """Sets the offsets of all slots, workspaces and frames, and every function's `frame_bytes` and `live_bytes`."""
    calls: Counter[PrimFunc] = Counter()
    for f in program.functions.values():
        calls.update(s.kernel for s in steps(f.body) if isinstance(s, RunKernel))
    for kernel in program.kernels:
        plan_workspace(kernel)
        kernel.attrs["scattered"] = calls[kernel] == 1
    recursive = _recursive(program)
    for name in _callees_first(program):
        function = program.functions[name]
        function.recursive = name in recursive
        _plan_function(program, function, recursive)


# ---------------------------------------------------------------------------------------------------------------------
# Kernels


@dataclass(frozen=True)
class Stages:
    """When a kernel uses what, counted in the statements at the top of its nest.

    Attributes:
        count: how many there are, at least one.
        read: for each input, the last stage that uses it.
        written: for each output, the first stage that uses it.
        workspace: the first and the last stage that use scratch memory.
    """

    count: int
    read: tuple[int, ...]
    written: tuple[int, ...]
    workspace: tuple[int, int]

    @property
    def in_turn(self) -> list[tuple[int, int]]:
        """Pairs (input, output) of which the input is done with before the output is begun: they may share memory."""
        return [(i, o) for i, r in enumerate(self.read) for o, w in enumerate(self.written) if r < w]


def plan_workspace(kernel: PrimFunc) -> None:
    """Gives every arena buffer of the kernel an offset in its scratch memory: `attrs["workspace"]` and `["offsets"]`.

    `attrs["stages"]` says when it uses what, and `attrs["overlapping"]`, once calls are planned, which of its inputs and
    outputs lie in the same memory one after the other.
    """
    intervals: dict[Buffer, Interval] = {}
    allocated = [s.buffer for s in pre_order(kernel.body) if isinstance(s, Allocate) and s.buffer.scope == "arena"]
    tops = _top_level(kernel.body)
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for clock, top in enumerate(tops):
        for b in _touched(top, {*allocated, *kernel.params}):
            first.setdefault(b, clock)
            last[b] = clock
    for b in allocated:
        if b in first:
            intervals[b] = Interval(align(b.nbytes), first[b], last[b])
    total, _ = place(list(intervals.values()))
    used = list(intervals.values())
    stages = Stages(
        max(1, len(tops)),
        tuple(last.get(b, 0) for b in kernel.inputs),
        tuple(first.get(b, 0) for b in kernel.outputs),
        (min((i.first for i in used), default=0), max((i.last for i in used), default=0)),
    )
    kernel.attrs["workspace"] = total or (1 if allocated else 0)  # a buffer of no bytes has an address all the same
    kernel.attrs["offsets"] = {b: i.offset for b, i in intervals.items()}
    kernel.attrs["buffers"] = intervals
    kernel.attrs["stages"] = stages
    kernel.attrs["overlapping"] = []


def _top_level(body: Stmt) -> list[Stmt]:
    """The statements that run one after the other at the top of a nest."""
    found: list[Stmt] = []
    stack = [body]
    while stack:
        s = stack.pop()
        if isinstance(s, Allocate):
            stack.append(s.body)
        elif isinstance(s, Seq):
            stack.extend(reversed(s.stmts))
        else:
            found.append(s)
    return found


def _touched(root: Stmt, wanted: set[Buffer]) -> list[Buffer]:
    found: dict[Buffer, None] = {}
    for s in pre_order(root):
        if isinstance(s, Store) and s.buffer in wanted:
            found[s.buffer] = None
        if isinstance(s, Allocate) and s.buffer in wanted:
            found[s.buffer] = None
        for e in post_order(*expressions(s)):
            if isinstance(e, Load) and e.source in wanted:
                found[e.source] = None
    return list(found)


# ---------------------------------------------------------------------------------------------------------------------
# Functions


def _calls(body: Sequence[Step]) -> list[CallFunction]:
    return [s for s in steps(body) if isinstance(s, CallFunction)]


def _callees_first(program: Program) -> list[str]:
    done: dict[str, None] = {}
    for root in program.functions:
        stack: list[tuple[str, bool]] = [(root, False)]
        entered: set[str] = set()
        while stack:
            name, ready = stack.pop()
            if ready:
                done.setdefault(name)
            elif name not in entered and name not in done:
                entered.add(name)
                stack.append((name, True))
                stack.extend((c.function, False) for c in _calls(program.functions[name].body))
    return list(done)


def _recursive(program: Program) -> set[str]:
    """Functions that may call themselves, directly or through others."""
    direct = {n: {c.function for c in _calls(f.body)} for n, f in program.functions.items()}
    found = set()
    for name in direct:
        seen: set[str] = set()
        stack = list(direct[name])
        while stack:
            n = stack.pop()
            if n not in seen:
                seen.add(n)
                stack.extend(direct[n])
        if name in seen:
            found.add(name)
    return found


def _plan_function(program: Program, function: HostFunction, recursive: set[str]) -> None:
    # Steps in order, a kernel's stages each counted as one; a branch's results live from its beginning.
    intervals: dict[Slot, Interval] = {}
    scratch: list[tuple[Step, Interval]] = []
    pieces: list[tuple[RunKernel, Buffer, Interval]] = []
    """Scratch memory of kernels that are called once: every buffer has a place of its own."""
    behind: list[CallFunction] = []
    clock = 0

    def touch(slot: Slot, at: int) -> None:
        slot = slot.resolve()
        if slot.kind == TEMP:
            held = intervals.setdefault(slot, Interval(align(slot.nbytes), at, at))
            held.first = min(held.first, at)
            held.last = max(held.last, at)

    stack: list[Step] = list(reversed(function.body))
    ordered: list[tuple[int, Step]] = []
    while stack:
        s = stack.pop()
        ordered.append((clock, s))
        if isinstance(s, RunKernel):
            stages = s.kernel.attrs["stages"]
            for slot, at in zip(s.inputs, stages.read):
                touch(slot, clock + at)
            for slot, at in zip(s.outputs, stages.written):
                touch(slot, clock + at)
            end = clock + stages.count - 1
            for slot in s.outputs:
                touch(slot, end)
            if s.kernel.attrs["scattered"]:
                pieces += [(s, b, i.later(clock)) for b, i in s.kernel.attrs["buffers"].items()]
            elif s.kernel.attrs["workspace"]:
                begin, stop = stages.workspace
                scratch.append((s, Interval(s.kernel.attrs["workspace"], clock + begin, clock + stop)))
            clock = end
        elif isinstance(s, CallFunction):
            for slot in (*s.inputs, *s.outputs):
                touch(slot, clock)
            if function.name in recursive and s.function in recursive:
                behind.append(s)
            elif program.functions[s.function].frame_bytes:
                scratch.append((s, Interval(program.functions[s.function].frame_bytes, clock, clock)))
        elif isinstance(s, CopySlot):
            touch(s.source, clock)
            touch(s.target, clock)
        else:
            assert isinstance(s, Branch)
            touch(s.cond, clock)
            for slot in _written(s, set(intervals)):
                touch(slot, clock)
            stack.extend(reversed(s.other))
            stack.extend(reversed(s.then))
        clock += 1
    groups = _share_in_place(ordered, intervals)
    items = list(dict.fromkeys(groups.values()))
    total, lower = place([*items, *(i for _, i in scratch), *(i for _, _, i in pieces)])
    for slot, interval in groups.items():
        slot.offset = interval.offset
    for run, buffer, interval in pieces:
        # Its scratch memory begins where the frame does.
        run.kernel.attrs["offsets"][buffer] = interval.offset
    for step, interval in scratch:
        if isinstance(step, RunKernel):
            step.workspace = interval.offset
        else:
            assert isinstance(step, CallFunction)
            step.frame = interval.offset
    for _, s in ordered:
        if isinstance(s, RunKernel):
            _note_overlaps(s)
    for call in behind:
        call.frame = total
    function.frame_bytes = total
    function.live_bytes = lower


def _note_overlaps(s: RunKernel) -> None:
    """Notes in the kernel's `attrs["overlapping"]` which inputs and outputs share memory in this call, one after the other."""
    found: list[tuple[int, int]] = s.kernel.attrs["overlapping"]
    for i, o in s.kernel.attrs["stages"].in_turn:
        a, b = s.inputs[i].resolve(), s.outputs[o].resolve()
        if a.kind != TEMP or b.kind != TEMP or (i, o) in found:
            continue
        assert a.offset is not None and b.offset is not None
        if a.offset < b.offset + align(b.nbytes) and b.offset < a.offset + align(a.nbytes):
            found.append((i, o))


def _written(branch: Branch, known: set[Slot]) -> list[Slot]:
    """Slots that both arms write: the branch's results. (What only one arm writes is its own.)"""

    def outputs(body: Sequence[Step]) -> dict[Slot, None]:
        found: dict[Slot, None] = {}
        for s in steps(body):
            if isinstance(s, RunKernel | CallFunction):
                found.update((o.resolve(), None) for o in s.outputs)
            elif isinstance(s, CopySlot):
                found[s.target.resolve()] = None
        return found

    other = outputs(branch.other)
    return [s for s in outputs(branch.then) if s in other and s not in known]


def _share_in_place(ordered: list[tuple[int, Step]], intervals: dict[Slot, Interval]) -> dict[Slot, Interval]:
    """Which interval each slot is in, after outputs have taken the places of inputs that die with them."""
    group = dict(intervals)
    members: dict[Interval, list[Slot]] = {i: [s] for s, i in intervals.items()}
    for clock, s in ordered:
        if not isinstance(s, RunKernel):
            continue
        taken: set[int] = set()
        for i, o in s.kernel.attrs.get("in_place", ()):
            at = clock + s.kernel.attrs["stages"].written[o]
            source, out = s.inputs[i].resolve(), s.outputs[o].resolve()
            if source.kind != TEMP or out.kind != TEMP or o in taken or source is out:
                continue
            a, b = group[source], group[out]
            if a is b or a.last != at or b.first != at or a.size != b.size:
                continue
            if sum(1 for x in s.inputs if x.resolve() is source) > 1 and not _all_in_place(s, source, o):
                continue
            # The output's interval has one slot (it begins here); it joins the input's.
            a.last = b.last
            for slot in members.pop(b):
                group[slot] = a
                members[a].append(slot)
            taken.add(o)
    return group


def _all_in_place(s: RunKernel, source: Slot, o: int) -> bool:
    allowed = {i for i, out in s.kernel.attrs["in_place"] if out == o}
    return all(i in allowed for i, x in enumerate(s.inputs) if x.resolve() is source)


# ---------------------------------------------------------------------------------------------------------------------
# Placing


def place(items: Sequence[Interval]) -> tuple[int, int]:
    """Chooses offsets; returns the bytes used and the lower bound (the largest sum of live sizes)."""
    items = [i for i in items if i.size]
    lower = _largest_live(items)
    if len(items) > _MANY:
        return _sweep(items), lower
    best = (-1, [0])
    orders = [
        sorted(items, key=lambda i: (-i.size, i.first)),
        sorted(items, key=lambda i: (-(i.last - i.first), -i.size)),
        sorted(items, key=lambda i: (-i.size * (i.last - i.first + 1), i.first)),
        sorted(items, key=lambda i: (i.first, -i.size)),
    ]
    first = orders[0]
    for order in orders:
        total, offsets = _fit(order)
        if best[0] < 0 or total < best[0]:
            best, first = (total, offsets), order
    chance = random.Random(0)
    tries = _TRIES if len(items) < 400 else 20
    while best[0] > lower and tries and len(items) > 1:
        tries -= 1
        order = list(first)
        for _ in range(chance.randint(1, 3)):
            a, b = chance.randrange(len(order)), chance.randrange(len(order))
            order[a], order[b] = order[b], order[a]
        total, offsets = _fit(order)
        if total <= best[0]:
            best, first = (total, offsets), order
    for item, offset in zip(first, best[1]):
        item.offset = offset
    return max(best[0], 0), lower


def _sweep(items: Sequence[Interval]) -> int:
    """First fit in order of time, in a list of gaps: for programs of very many steps."""
    gaps: list[tuple[int, int]] = []
    live: list[tuple[int, int, int]] = []
    top = 0
    for item in sorted(items, key=lambda i: (i.first, -i.size)):
        while live and live[0][0] < item.first:
            _, begin, size = heapq.heappop(live)
            insort(gaps, (begin, begin + size))
            at = gaps.index((begin, begin + size))
            if at + 1 < len(gaps) and gaps[at][1] == gaps[at + 1][0]:
                gaps[at : at + 2] = [(gaps[at][0], gaps[at + 1][1])]
            if at and gaps[at - 1][1] == gaps[at][0]:
                gaps[at - 1 : at + 1] = [(gaps[at - 1][0], gaps[at][1])]
        for n, (begin, end) in enumerate(gaps):
            if end - begin >= item.size:
                item.offset = begin
                gaps[n : n + 1] = [(begin + item.size, end)] if end - begin > item.size else []
                break
        else:
            if gaps and gaps[-1][1] == top:
                item.offset = gaps.pop()[0]
            else:
                item.offset = top
            top = item.offset + item.size
        heapq.heappush(live, (item.last, item.offset, item.size))
    return top


def _largest_live(items: Sequence[Interval]) -> int:
    events: list[tuple[int, int, int]] = []
    for i in items:
        events += [(i.first, 0, i.size), (i.last, 1, -i.size)]
    events.sort()
    live = most = 0
    for _, _, change in events:
        live += change
        most = max(most, live)
    return most


def _fit(order: Sequence[Interval]) -> tuple[int, list[int]]:
    """First fit in this order."""
    placed: list[tuple[int, int, int, int]] = []
    offsets: list[int] = []
    total = 0
    for item in order:
        at = 0
        for begin, end, first, last in placed:
            if first <= item.last and item.first <= last:
                if begin - at >= item.size:
                    break
                at = max(at, end)
        offsets.append(at)
        entry = (at, at + item.size, item.first, item.last)
        low, high = 0, len(placed)
        while low < high:
            mid = (low + high) // 2
            if placed[mid] < entry:
                low = mid + 1
            else:
                high = mid
        placed.insert(low, entry)
        total = max(total, at + item.size)
    return total, offsets
