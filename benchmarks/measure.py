"""Timing for a noisy machine: the median of several runs, and ratios of runs that alternate."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def seconds(function: Callable[[], object], runs: int = 7) -> float:
    """Median wall-clock seconds of one call, after one call that is not counted."""
    function()
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ratio(a: Callable[[], object], b: Callable[[], object], runs: int = 7) -> float:
    """Median of time(a) / time(b), the two called in turn, so that drift of the machine's speed cancels."""
    a()
    b()
    ratios = []
    for _ in range(runs):
        start = time.perf_counter()
        a()
        middle = time.perf_counter()
        b()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


class OtherWork:
    """`with OtherWork() as other: …` — `other.seconds`: what all cores together worked meanwhile, but not for this process.

    Counts the time that a virtual machine's host kept for itself. In steps of 10 ms or so; 0 if /proc/stat is missing.
    """

    seconds = 0.0

    def __enter__(self) -> OtherWork:
        self._began = _worked() - time.process_time()
        return self

    def __exit__(self, *_: Any) -> None:
        self.seconds = _worked() - time.process_time() - self._began


def _worked() -> float:
    """Seconds that the cores have worked since the machine was started."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0]
    except OSError:
        return time.process_time()
    user, nice, system, _idle, _waiting, *rest = (int(n) for n in first.split()[1:])
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")
