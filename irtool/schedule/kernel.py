"""Schedules a kernel: each of its stages by the strategy that wins it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..tir.kernel import Choice, Kernel
from ..tir.stmt import Allocate, Buffer, Seq, Stmt, seq
from .compute_at import ComputedAt, choose_rows, compute_at
from .forms import Map, Reduction, buffers_read, recognise
from .machine import Machine
from .primitives import tracing
from .strategies.base import Stage, choose_strategy
from .strategies.row_reduction import row_count


@dataclass(frozen=True)
class Note:
    """A stage's strategy and why it got it, how much work the stage is, and the primitives that were applied."""

    work: int
    strategy: str
    reason: str
    trace: tuple[str, ...]


def schedule_kernel(kernel: Kernel, machine: Machine) -> Kernel:
    """The kernel with the nests that its stages' strategies make; its `choice` tells of them."""
    scheduler = _Scheduler(machine, kernel.same_memory)
    body = scheduler.run(kernel.body)
    main = max(scheduler.notes, key=lambda n: n.work, default=None)
    if main is None:
        return kernel.replace(body=body, choice=Choice("loops", "no stage has a form that is scheduled"))
    return kernel.replace(body=body, choice=Choice(main.strategy, main.reason, _trace(scheduler.notes)))


def _trace(notes: Sequence[Note]) -> tuple[str, ...]:
    """What was done to all stages; of several, each after a line with its strategy."""
    if len(notes) == 1:
        return notes[0].trace
    lines: list[str] = []
    for n in notes:
        lines += [f"{n.strategy}: {n.reason}", *(f"  {line}" for line in n.trace)]
    return tuple(lines)


@dataclass
class _Scheduler:
    """Schedules the stages of one kernel. `same`: pairs of an input and an output that may lie in the same memory."""

    machine: Machine
    same: list[tuple[Buffer, Buffer]]
    notes: list[Note] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    """What lies in the workspace."""
    rows: int = 0
    """How many rows are summed, where stages are sums of rows or work on their elements."""

    def run(self, root: Stmt) -> Stmt:
        s = self._take_buffers(root)
        stages = list(s.stmts) if isinstance(s, Seq) and recognise(s) is None else [s]
        forms = [recognise(x) for x in stages]
        self.rows = max(0, row_count(forms, self.machine)) if self.machine.vector_bytes else 0
        made: list[Stmt] = []
        at = 0
        while at < len(stages):
            with tracing() as trace:
                computed = _computed_at(forms[at : at + 2], stages) if self.machine.vector_bytes else None
            if computed is None:
                made.append(self._stage(stages[at], forms[at]))
                at += 1
                continue
            copy = self._stage(stages[at], computed.copy, trace)
            made.append(computed.assemble(copy, self._stage(stages[at + 1], computed.reader)))
            self.buffers = [computed.buffer if b is computed.whole else b for b in self.buffers]
            at += 2
        body = seq(made)
        for b in reversed(self.buffers):
            body = Allocate(b, body)
        return body

    def _take_buffers(self, s: Stmt) -> Stmt:
        while isinstance(s, Allocate) and s.buffer.scope == "arena":
            self.buffers.append(s.buffer)
            s = s.body
        return s

    def _stage(self, s: Stmt, form: Map | Reduction | None, before: Sequence[str] = ()) -> Stmt:
        stage = Stage(s, form, self.machine, self.rows, self.same)
        with tracing() as trace:
            strategy, candidate = choose_strategy(stage)
            body = strategy.apply(stage, candidate)
        self.notes.append(Note(stage.work, strategy.name, candidate.reason, (*before, *trace)))
        return self._take_buffers(body)


def _computed_at(pair: list[Map | Reduction | None], stages: list[Stmt]) -> ComputedAt | None:
    """A copy and the reduction behind it in bands, if that is of use and nothing else reads the copy."""
    if len(pair) != 2 or not isinstance(pair[0], Map) or not isinstance(pair[1], Reduction):
        return None
    band = choose_rows(pair[0], pair[1])
    if band is None:
        return None
    copied = pair[0].stores[0].buffer
    if sum(1 for x in stages if copied in buffers_read(x)) != 1:
        return None
    return compute_at(pair[0], pair[1], band)
