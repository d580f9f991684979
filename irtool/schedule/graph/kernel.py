"""Scheduling of a kernel: a strategy for each of its stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...symbolic_int import Undecided
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, workspace
from ...tir.kernel import Choice, Kernel, StageChoice
from ...tir.stmt import Buffer, Stmt
from ...tir.vector_target import VectorTarget
from ..cost.row_choice import row_count
from ..primitives import compute_in_bands, tracing
from ..primitives.base import watched_stage
from ..scripts.script import entry_for
from ..strategies.base import Stage, offers_for, refusal
from ..windows.bands import Banded, choose_rows


def schedule_kernel(kernel: Kernel, target: VectorTarget) -> Kernel:
    """The kernel with the nests of its stages' strategies; its `choice` names these."""
    scheduler = _Scheduler(kernel.name, target, kernel.same_memory, list(kernel.temporaries))
    nests = scheduler.run(kernel.stages)
    choice = Choice("loops", "the kernel has no stages")
    if scheduler.choices:
        main = scheduler.choices[max(range(len(scheduler.choices)), key=lambda n: scheduler.work[n])]
        choice = Choice(main.strategy, main.reason, tuple(scheduler.choices))
    return kernel.replace(nests=nests, temporaries=scheduler.buffers, choice=choice)


@dataclass
class _Scheduler:
    """Schedules the stages of one kernel. `same`: pairs of an input and an output that may share memory."""

    name: str
    target: VectorTarget
    same: list[tuple[Buffer, Buffer]]
    buffers: list[Buffer]
    """The buffers in the workspace."""

    choices: list[StageChoice] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    rows: int = 0
    """The number of rows, if all stages are sums of rows or elementwise."""

    main: int = 0
    """The number of the stage with the most work."""

    def run(self, forms: Sequence[AnyForm]) -> list[Stmt]:
        """The nests of the stages, in order."""
        by_rows = self.target.vector_bytes and len(forms) > 1
        self.rows = max(0, row_count(forms, self.target)) if by_rows else 0
        self.main = max(range(len(forms)), key=lambda n: Stage(forms[n], self.target).work, default=0)
        stmts: list[Stmt] = []
        number = 0
        while number < len(forms):
            with tracing() as trace:
                banded = self._in_bands(number, forms)
            if banded is None:
                stmts.append(self._stage(number, forms[number]))
                number += 1
                continue
            before = len(self.choices), len(self.buffers)
            copy = self._stage(number, banded.copy, trace)
            nest = banded.assemble(copy, self._stage(number + 1, banded.reader))
            if nest is None:
                del self.choices[before[0] :], self.work[before[0] :], self.buffers[before[1] :]
                stmts += [self._stage(k, forms[k]) for k in (number, number + 1)]
            else:
                stmts.append(nest)
                self.buffers = [banded.buffer if b is banded.whole else b for b in self.buffers]
            number += 2
        return stmts

    def _stage(self, number: int, form: AnyForm, before: Sequence[str] = ()) -> Stmt:
        stage = Stage(
            form, self.target, self.rows, self.same, kernel=self.name, number=number, main=number == self.main
        )
        refusals: list[str] = []
        offers = offers_for(stage, refusals)
        for strategy, candidate in offers:
            try:
                with tracing() as trace, watched_stage(self.name, number, strategy.name, candidate.reason, form):
                    body = strategy.apply(stage, candidate)
                break
            except Undecided as error:
                doubt = error
                refusals.append(refusal(strategy, error))
        else:
            raise doubt
        estimates = tuple((s.name, offer.cost * stage.work) for s, offer in offers if math.isfinite(offer.cost))
        reason = "; ".join([candidate.reason, *refusals])
        self.choices.append(StageChoice(number, strategy.name, reason, (*before, *trace), estimates))
        self.work.append(stage.work)
        buffers, nest = workspace(body)
        self.buffers += buffers
        return nest

    def _in_bands(self, number: int, forms: Sequence[AnyForm]) -> Banded | None:
        """A copy and the reduction behind it in bands, if a script says so, or if that is faster and nothing else reads the
        copy."""
        copy = forms[number]
        reader = forms[number + 1] if number + 1 < len(forms) else None
        entry = entry_for(self.name, number, number == self.main) if isinstance(copy, Map | Reduction) else None
        by_hand = entry.bands if entry is not None else None
        if entry is not None and by_hand is None:
            return None
        if not isinstance(copy, Map) or not isinstance(reader, Reduction) or not self._is_read_once(copy, forms):
            if by_hand is not None:
                raise by_hand.refused("another stage than the next one reads this one, or none does")
            return None
        if by_hand is not None:
            return by_hand.on_stages(copy, reader)
        band = choose_rows(copy, reader, self.target)
        return compute_in_bands((copy, reader), reader.loops[band.loop][0], band.rows) if band is not None else None

    def _is_read_once(self, copy: Map, forms: Sequence[AnyForm]) -> bool:
        """True if exactly one stage reads the copy."""
        return sum(1 for x in forms if copy.stores[0].buffer in buffers_read(x)) == 1
