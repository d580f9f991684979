"""How long a processor waits for what another one has written.

Two threads write the same line of memory in turns. Where the processors have a cache in common, that takes 30 ns or so; without one,
several times as much. A virtual machine's processors may move from one state to the other at any time, and then all that two threads
measure changes, by a fifth for networks whose layers are large.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

from irtool.backends.c import C
from irtool.backends.library import open_library

_TURNS = 20_000

_TEXT = """#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>
static long line[32] __attribute__((aligned(256)));
/* Waits until the line has a number, and writes the next one. */
static void take_turns(long first, long turns) {
  for (long n = first; n < 2 * turns; n += 2) {
    while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != n) {}
    __atomic_store_n(line, n + 1, __ATOMIC_RELEASE);
  }
}
static void *answer(void *turns) {
  take_turns(1, *(long *)turns);
  return NULL;
}
double handover(long turns) {
  struct timespec a, b;
  pthread_t other;
  line[0] = -1;
  if (pthread_create(&other, NULL, answer, &turns)) return 0;
  clock_gettime(CLOCK_MONOTONIC, &a);
  __atomic_store_n(line, 0, __ATOMIC_RELEASE);
  take_turns(0, turns);
  pthread_join(other, NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  return ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / (2.0 * (double)turns);
}
"""


@cache
def _compiled() -> ctypes.CDLL:
    compiler = C().compiler
    with tempfile.TemporaryDirectory(prefix="irtool-bench-") as place:
        (Path(place) / "handover.c").write_text(_TEXT, encoding="utf-8")
        flags = [*compiler.flags, "-fPIC", "-shared", "-pthread", "-o", "handover.so", "handover.c"]
        compiler.run(flags, Path(place))
        library = open_library(Path(place) / "handover.so")
    library.handover.restype = ctypes.c_double
    return library


def seconds() -> float:
    """Seconds from the time at which one thread writes to that at which another one sees it, on average. It needs two processors."""
    return float(_compiled().handover(ctypes.c_long(_TURNS)))
