"""Schedules a kernel: each of its stages by the strategy that wins it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..tir.forms import AnyForm, Map, Reduction, buffers_read, workspace
from ..tir.kernel import Choice, Kernel, StageChoice
from ..tir.stmt import Buffer, Stmt
from .compute_at import ComputedAt, choose_rows, compute_at
from .primitives import tracing
from .strategies.base import Stage, choose_strategy
from .strategies.row_reduction import row_count
from .vector_target import VectorTarget


def schedule_kernel(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with the nests that its stages' strategies make; its `choice` tells of them."""
    scheduler = _Scheduler(kernel.name, target, kernel.same_memory, list(kernel.temporaries))
    nests = scheduler.run(kernel.stages)
    choice = Choice("loops", "there is nothing to do")
    if scheduler.choices:
        main = scheduler.choices[max(range(len(scheduler.choices)), key=lambda n: scheduler.work[n])]
        choice = Choice(main.strategy, main.reason, tuple(scheduler.choices))
    return kernel.replace(nests=nests, temporaries=scheduler.buffers, choice=choice)


@dataclass
class _Scheduler:
    """Schedules the stages of one kernel. `same`: pairs of an input and an output that may lie in the same memory."""

    name: str
    target: VectorTarget
    same: list[tuple[Buffer, Buffer]]
    buffers: list[Buffer]
    """What lies in the workspace."""

    choices: list[StageChoice] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    rows: int = 0
    """How many rows are summed, where stages are sums of rows or work on their elements."""

    main: int = 0
    """The number of the stage with the most work."""

    def run(self, forms: Sequence[AnyForm]) -> list[Stmt]:
        """The nests of the stages, in order."""
        self.rows = max(0, row_count(forms, self.target)) if self.target.vector_bytes else 0
        self.main = max(range(len(forms)), key=lambda n: Stage(forms[n], self.target).work, default=0)
        made: list[Stmt] = []
        at = 0
        while at < len(forms):
            with tracing() as trace:
                computed = _computed_at(forms[at : at + 2], forms, self.target) if self.target.vector_bytes else None
            if computed is None:
                made.append(self._stage(at, forms[at]))
                at += 1
                continue
            copy = self._stage(at, computed.copy, trace)
            made.append(computed.assemble(copy, self._stage(at + 1, computed.reader)))
            self.buffers = [computed.buffer if b is computed.whole else b for b in self.buffers]
            at += 2
        return made

    def _stage(self, number: int, form: AnyForm, before: Sequence[str] = ()) -> Stmt:
        stage = Stage(
            form, self.target, self.rows, self.same, kernel=self.name, number=number, main=number == self.main
        )
        strategy, candidate = choose_strategy(stage)
        with tracing() as trace:
            body = strategy.apply(stage, candidate)
        self.choices.append(StageChoice(number, strategy.name, candidate.reason, (*before, *trace)))
        self.work.append(stage.work)
        buffers, nest = workspace(body)
        self.buffers += buffers
        return nest


def _computed_at(pair: Sequence[AnyForm], stages: Sequence[AnyForm], target: VectorTarget) -> ComputedAt | None:
    """A copy and the reduction behind it in bands, if that is of use and nothing else reads the copy."""
    if len(pair) != 2 or not isinstance(pair[0], Map) or not isinstance(pair[1], Reduction):
        return None
    band = choose_rows(pair[0], pair[1], target)
    if band is None:
        return None
    copied = pair[0].stores[0].buffer
    if sum(1 for x in stages if copied in buffers_read(x)) != 1:
        return None
    return compute_at(pair[0], pair[1], band)
