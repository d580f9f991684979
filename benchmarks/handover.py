"""How long a processor waits for what another one has written.

Two threads write the same line of memory in turns. Where the processors have a cache in common, that takes 30 ns or so; without one,
several times as much. A virtual machine's processors may move from one state to the other at any time, and then all that two threads
measure changes, by a fifth for networks whose layers are large.

Beside other load, two threads may have one processor between them, and each turn then takes a tick of the scheduler: the measurement
ends after `_MOST_SECONDS` with the turns that were taken.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

from irtool.backends.c import C
from irtool.backends.library import open_library

_TURNS = 20_000
_MOST_SECONDS = 0.05
"""Twenty times the time of the turns on processors without a common cache."""

_TEXT = """#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <time.h>
static long line[32] __attribute__((aligned(256)));
static long last;
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Waits until the line has a number, and writes the next one, up to `turns` times and until `end`: who finds it past writes -1, which
   ends the other's turns too. A thread that has waited for long lets the other have the processor. Returns the turns taken. */
static long take_turns(long first, long turns, double end) {
  long n = first;
  for (; n < 2 * turns; n += 2) {
    long there;
    for (long spins = 1; (there = __atomic_load_n(line, __ATOMIC_ACQUIRE)) != n && there != -1; spins++)
      if (spins % 4096 == 0) sched_yield();
    if (there == -1) break;
    if (n % 64 < 2 && now() > end) {
      __atomic_store_n(line, -1, __ATOMIC_RELEASE);
      break;
    }
    __atomic_store_n(line, n + 1, __ATOMIC_RELEASE);
  }
  return n / 2;
}
struct part { long turns; double end; };
static void *answer(void *part) {
  const struct part *p = part;
  last = take_turns(1, p->turns, p->end);
  return NULL;
}
/* Seconds of a turn; so many were taken. */
double handover(long turns, double most, long *taken) {
  pthread_t other;
  double start = now();
  struct part p = {turns, start + most};
  line[0] = -2;
  *taken = 0;
  if (pthread_create(&other, NULL, answer, &p)) return 0;
  start = now();
  __atomic_store_n(line, 0, __ATOMIC_RELEASE);
  *taken = take_turns(0, turns, p.end);
  pthread_join(other, NULL);
  if (last < *taken) *taken = last;
  return (now() - start) / (2.0 * (double)(*taken ? *taken : 1));
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
    return measure()[0]


def measure(turns: int = _TURNS, most: float = _MOST_SECONDS) -> tuple[float, int]:
    """The same, and how many turns it is the average of: at most so many, in at most so many seconds and one wait for the processor."""
    taken = ctypes.c_long()
    waited = float(_compiled().handover(ctypes.c_long(turns), ctypes.c_double(most), ctypes.byref(taken)))
    return waited, taken.value
