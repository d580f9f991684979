"""Timing for a noisy machine: the median of several runs, and ratios of runs that alternate."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable


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
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        a()
        middle = time.perf_counter()
        b()
        found.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(found)
