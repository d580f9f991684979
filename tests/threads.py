"""Libraries whose runs have a number of threads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def thread_setter(library: Path) -> Iterator[Callable[[int], object]]:
    """Sets how many threads OpenMP takes, as a library has it; at the end there are as many as before."""
    openmp = ctypes.CDLL(str(library))
    before = openmp.omp_get_max_threads()
    try:
        yield openmp.omp_set_num_threads
    finally:
        openmp.omp_set_num_threads(before)
