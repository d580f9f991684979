"""Measures the kernels of a network, one by one, and whatever can be called."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..backends.base import TimingConditions
from ..driver.options import Options
from ..ir import Module
from ..tune.kernels import Tunable, find_kernels
from .record import KernelTimes, Times

Progress = Callable[[int, int], None]


def measure_calls(run: Callable[[], object], seconds: float, rounds: int) -> Times:
    """The best run of each round; a round takes as many seconds, and one run at least. The first run is not counted."""
    run()
    found = []
    for _ in range(rounds):
        best, until = float("inf"), time.perf_counter() + seconds
        while True:
            start = time.perf_counter()
            run()
            end = time.perf_counter()
            best = min(best, end - start)
            if end >= until:
                break
        found.append(best)
    return Times(found)


def measure_kernels(
    prepared: Module,
    options: Options,
    seconds: float,
    rounds: int,
    runner: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[list[KernelTimes], list[int], int]:
    """The kernels of a module that `driver.prepare` has prepared, most time first; the numbers of those that a run calls, in order;
    and how many were left out, which have no loops of ours.

    Each is a program of its own whose weights come from memory, as they do in the network. Raises ToolError where one does
    not compile or run.
    """
    target = options.backend.machine()
    network = find_kernels(prepared, options, target)
    conditions = [TimingConditions(seconds / rounds, k.cold, network.weights) for k in network.kernels]
    made = []
    for n, (k, c) in enumerate(zip(network.kernels, conditions, strict=True)):
        with k.job(options.backend, target, {}, c).compiled() as once:
            made.append(_times(k, [once(runner) for _ in range(rounds)]))
        if progress is not None:
            progress(n + 1, len(conditions))
    order = sorted(range(len(made)), key=lambda n: (-made[n].whole, n))
    place = {old: new for new, old in enumerate(order)}
    return [made[n] for n in order], [place[n] for n in network.sequence], network.left_out


def _times(k: Tunable, rounds: list[float]) -> KernelTimes:
    kernel = k.kernel
    nbytes = sum(b.nbytes for b in kernel.params)
    out = kernel.outputs[0]
    result = f"{out.dtype}[{', '.join(map(str, out.shape))}]"
    words = kernel.name, list(kernel.operators), k.strategy, k.calls, kernel.macs, nbytes, result
    return KernelTimes(rounds, *words, list(k.nodes))
