"""Measures the kernels of a network, one by one, and any callable."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..backends.base import TimingConditions
from ..driver.options import Options
from ..ir import Module
from ..symbolic_int import nominal
from ..tune.kernels import Tunable, find_kernels
from .record import KernelTimes, Times


@dataclass(frozen=True)
class KernelRuns:
    """The kernels of a network.

    Attributes:
        kernels: with their times, most time first.
        sequence: numbers of those that steps of the network run, in order.
        repeats: how often each of these steps is executed in one run.
        left_out: steps with kernels that have no loops of ours.
    """

    kernels: list[KernelTimes]
    sequence: list[int]
    repeats: list[int]
    left_out: int


Progress = Callable[[int, int], None]


def measure_calls(run: Callable[[], object], seconds: float, rounds: int) -> Times:
    """The best run of each round; a round takes as many seconds, and one run at least. The first run is not counted."""
    run()
    best_times = []
    for _ in range(rounds):
        best, until = float("inf"), time.perf_counter() + seconds
        while True:
            start = time.perf_counter()
            run()
            end = time.perf_counter()
            best = min(best, end - start)
            if end >= until:
                break
        best_times.append(best)
    return Times(best_times)


def measure_kernels(
    prepared: Module,
    options: Options,
    values: Sequence[Any],
    seconds: float,
    rounds: int,
    runner: Sequence[str] = (),
    progress: Progress | None = None,
) -> KernelRuns:
    """The kernels of a module that `driver.prepare` has prepared, and how often a run on some values executes them.

    Each is a program of its own whose weights come from memory, as they do in the network. Raises ToolError if one does
    not compile or run.
    """
    target = options.backend.machine()
    network = find_kernels(prepared, options, target)
    repeats = network.count(options.backend, target, values)
    each = seconds / rounds
    conditions = [TimingConditions(each, k.cold, n) for k, n in zip(network.kernels, network.passing, strict=True)]
    kernel_times = []
    for n, (k, c) in enumerate(zip(network.kernels, conditions, strict=True)):
        with k.job(options.backend, target, {}, c).compiled() as once:
            kernel_times.append(_times(k, [once(runner) for _ in range(rounds)]))
        if progress is not None:
            progress(n + 1, len(conditions))
    order = sorted(range(len(kernel_times)), key=lambda n: (-kernel_times[n].whole, n))
    place = {old: new for new, old in enumerate(order)}
    return KernelRuns([kernel_times[n] for n in order], [place[n] for n in network.sequence], repeats, network.left_out)


def _times(k: Tunable, rounds: list[float]) -> KernelTimes:
    kernel = k.kernel
    nbytes = sum(nominal(b.nbytes) for b in kernel.params)
    out = kernel.outputs[0]
    result = f"{out.dtype}[{', '.join(map(str, out.shape))}]"
    facts = kernel.name, list(kernel.operators), k.strategy, k.calls, nominal(kernel.macs), nbytes, result
    return KernelTimes(rounds, *facts, list(k.nodes))
