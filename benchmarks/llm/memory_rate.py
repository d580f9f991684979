"""The rate at which memory is read."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

_BYTES = 1 << 28
_RUNS = 8


def reading_rate(threads: int) -> float:
    """Bytes in a second that threads read from memory, each from an array of its own: the disjunction of 64-bit integers, which numpy computes in
    vectors, was the fastest of its reductions."""
    import numpy as np

    arrays = [np.ones(_BYTES // 8, np.int64) for _ in range(threads)]
    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_RUNS):
            start = time.perf_counter()
            list(pool.map(np.bitwise_or.reduce, arrays))
            best = min(best, time.perf_counter() - start)
    return threads * _BYTES / best
