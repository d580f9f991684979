"""The search: the order of measurements, and the choice by their times.

Every kernel is measured first as it is without a table. Then the kernel that promises most is next, again and again: the one
with the largest time in a run of the network, divided by the number of its measurements. Of a kernel's stages, those with the
fewest measurements come first; their offers come in the order in which strategies make them. At the end, what was best is
measured once more beside what it would take the place of, in turns, and kept only if it is faster beyond noise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from ..backends.base import Backend, TimingConditions
from ..diagnostics import ToolError, UsageError
from ..driver.options import Options
from ..driver.tuned_table import Table, machine_name
from ..ir import Module
from .kernels import Tunable, find_tunables

_GAIN = 0.98
"""The part of the time that is left where a choice is faster beyond noise."""

_TURNS = 3


@dataclass(frozen=True)
class Budget:
    """The budget of a search: numbers of measurements and seconds. `each` is the seconds that a kernel runs in a measurement."""

    trials: int = 1000
    seconds: float = math.inf
    each: float = 0.1


@dataclass
class Outcome:
    """The result of a search: seconds of the measured kernels in one run, without and with the table, and the numbers of
    made, failed and reused measurements."""

    machine: str
    before: float = 0.0
    after: float = 0.0
    measured: int = 0
    known: int = 0
    improved: int = 0
    failures: list[str] = field(default_factory=list)


def tune(
    prepared: Module,
    options: Options,
    table: Table,
    executor: Executor,
    jobs: int = 1,
    budget: Budget = Budget(),
    runner: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
    keep: Callable[[Table], None] | None = None,
) -> Outcome:
    """Measures kernels of a module and files the best choices in the table.

    Args:
        prepared: the module after the build pipeline, as `driver.prepare` gives it.
        options: those of the build that will use the table: backend, its flags, the processor's sizes.
        table: the known results, which are not measured again, and the new ones.
        executor: runs measurements, `jobs` of them at once: threads here, or workers on other machines.
        runner: words before the program that measures, such as an emulator's.
        progress: is told of measurements that are done, and of all there may be.
        keep: is handed the table after every few measurements, and at the end, however that comes.

    Raises UsageError for a backend that measures nothing, ToolError where no kernel can be measured at all.
    """
    if type(options.backend).timing is Backend.timing:
        raise UsageError(f"the backend {options.backend.name} measures no kernels")
    machine = options.backend.machine().resized(dict(options.sizes))
    search = _Search(options, table, machine_name(options.backend, machine), budget, tuple(runner))
    search.prepare(prepared, machine)
    try:
        search.run(executor, jobs, progress, keep)
        search.confirm(executor)
    finally:
        if keep is not None and search.outcome.measured:  # an interruption loses no measurement
            search.file()
            keep(table)
    return search.finish()


@dataclass
class _Kernel:
    """A kernel in the search: seconds by choice, for each of its stages."""

    tunable: Tunable
    seconds: dict[str, dict[str, float]]
    running: set[tuple[str, str]] = field(default_factory=set)
    base: float = math.inf

    @property
    def trials(self) -> int:
        return sum(len(labels) for labels in self.seconds.values()) + len(self.running)

    def next(self) -> tuple[str, str] | None:
        """The stage and the choice that should be measured next; None if all have been."""
        for offers in sorted(self.tunable.stages, key=lambda o: len(self.seconds[o.key])):
            for label in offers.labels:
                if label not in self.seconds[offers.key] and (offers.key, label) not in self.running:
                    return offers.key, label
        return None


class _Search:
    def __init__(self, options: Options, table: Table, machine: str, budget: Budget, runner: tuple[str, ...]) -> None:
        self.options = options
        self.table = table
        self.budget = budget
        self.runner = runner
        self.outcome = Outcome(machine)
        self.kernels: list[_Kernel] = []

    def prepare(self, prepared: Module, target: Any) -> None:
        tunables, weights = find_tunables(prepared, self.options, target)
        self.target, self.weights = target, weights
        entries = self.table.stages(self.outcome.machine)
        for t in tunables:
            known = {o.key: dict(entries.get(o.key, {}).get("trials", {})) for o in t.stages}
            seconds = {k: {label: us * 1e-6 for label, us in microseconds.items()} for k, microseconds in known.items()}
            self.outcome.known += sum(map(len, seconds.values()))
            kernel = _Kernel(t, seconds)
            first = [seconds[o.key].get(o.labels[0], math.inf) for o in t.stages]
            kernel.base = min(first)
            self.kernels.append(kernel)

    def run(
        self,
        executor: Executor,
        jobs: int,
        progress: Callable[[int, int], None] | None,
        keep: Callable[[Table], None] | None,
    ) -> None:
        """Measures until everything is, or the budget is used up."""
        end = time.monotonic() + self.budget.seconds
        possible = sum(len(o.labels) for k in self.kernels for o in k.tunable.stages) - self.outcome.known
        total = min(self.budget.trials, possible)
        waiting: dict[Future[float], tuple[_Kernel, str, str]] = {}
        started = 0
        try:
            while True:
                while len(waiting) < jobs and started < total and time.monotonic() < end:
                    chosen = self._next()
                    if chosen is None:
                        break
                    kernel, key, label = chosen
                    kernel.running.add((key, label))
                    waiting[self._submit(executor, kernel, key, label)] = chosen
                    started += 1
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    self._note(*waiting.pop(future), future)
                if progress is not None:
                    progress(self.outcome.measured + len(self.outcome.failures), total)
                if keep is not None and self.outcome.measured % 20 == 0:
                    self.file()
                    keep(self.table)
        finally:
            for future in waiting:
                future.cancel()

    def confirm(self, executor: Executor) -> None:
        """Measures the best choices once more, in turns with those that they would replace."""
        for kernel in self.kernels:
            for offers in kernel.tunable.stages:
                seconds_of = kernel.seconds[offers.key]
                first, best = offers.labels[0], self._best(kernel, offers.key, offers.labels[0])
                if best == first:
                    continue
                for label in (first, best) * _TURNS:
                    try:
                        seconds = self._submit(executor, kernel, offers.key, label).result()
                    except ToolError as error:
                        # What does not run each time is not chosen; a fault of the measuring itself leaves things as they are.
                        self._fail(kernel, label, error)
                        seconds_of.pop(best)
                        break
                    seconds_of[label] = min(seconds_of[label], seconds)

    def finish(self) -> Outcome:
        """Files everything and returns the outcome."""
        self.file()
        for kernel in self.kernels:
            if kernel.base == math.inf:
                continue
            calls = kernel.tunable.calls
            self.outcome.before += calls * kernel.base
            saved = 0.0
            for offers in kernel.tunable.stages:
                seconds_of = kernel.seconds[offers.key]
                best = self._best(kernel, offers.key, offers.labels[0])
                if best != offers.labels[0]:
                    self.outcome.improved += 1
                    saved += seconds_of[offers.labels[0]] - seconds_of[best]
            self.outcome.after += calls * max(0.0, kernel.base - saved)
        if not self.outcome.measured and not self.outcome.known and self.outcome.failures:
            raise ToolError(f"no kernel could be measured: {self.outcome.failures[0]}")
        return self.outcome

    def _next(self) -> tuple[_Kernel, str, str] | None:
        def promise(kernel: _Kernel) -> float:
            if kernel.base == math.inf and not kernel.running:
                return math.inf
            return kernel.tunable.calls * min(kernel.base, 1.0) / (1 + kernel.trials)

        for kernel in sorted(self.kernels, key=promise, reverse=True):
            trial = kernel.next()
            if trial is not None:
                return kernel, *trial
        return None

    def _submit(self, executor: Executor, kernel: _Kernel, key: str, label: str) -> Future[float]:
        conditions = TimingConditions(self.budget.each, kernel.tunable.cold, self.weights)
        job = kernel.tunable.job(self.options.backend, self.target, {key: label}, conditions)
        return executor.submit(job.run, self.runner)

    def _note(self, kernel: _Kernel, key: str, label: str, future: Future[float]) -> None:
        kernel.running.discard((key, label))
        try:
            seconds = future.result()
        except ToolError as error:
            self._fail(kernel, label, error)
            kernel.seconds[key][label] = math.inf
            return
        self.outcome.measured += 1
        kernel.seconds[key][label] = seconds
        first = {o.key: o.labels[0] for o in kernel.tunable.stages}
        if label == first[key]:
            kernel.base = min(kernel.base, seconds)

    def _fail(self, kernel: _Kernel, label: str, error: ToolError) -> None:
        self.outcome.failures.append(f"{kernel.tunable.kernel.name}, {label}: {error.diagnostics[0].message}")

    def _best(self, kernel: _Kernel, key: str, first: str) -> str:
        seconds_of = kernel.seconds[key]
        if first not in seconds_of:
            return first
        best = min(seconds_of, key=lambda label: (seconds_of[label], label))
        return best if seconds_of[best] < _GAIN * seconds_of[first] else first

    def file(self) -> None:
        """Puts the measurements, and the best choices among them, into the table."""
        entries = self.table.stages(self.outcome.machine)
        for kernel in reversed(self.kernels):  # of equal stages, that of the kernel with the most work counts
            for offers in kernel.tunable.stages:
                seconds_of = {label: s for label, s in kernel.seconds[offers.key].items() if s < math.inf}
                first = offers.labels[0]
                if first not in seconds_of:
                    continue
                best = self._best(kernel, offers.key, first)
                entries[offers.key] = {
                    "kernel": kernel.tunable.kernel.name,
                    "computes": list(kernel.tunable.kernel.calls),
                    "choice": best,
                    "microseconds": _microseconds(seconds_of[best]),
                    "untuned": first,
                    "untuned_microseconds": _microseconds(seconds_of[first]),
                    "trials": {label: _microseconds(s) for label, s in sorted(seconds_of.items())},
                }


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)
