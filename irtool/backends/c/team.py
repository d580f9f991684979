"""Threads that run a network together: one parallel region for a run, with light barriers between kernels.

Each thread takes the parts of its own share of a loop in order, then those that others have not begun: so that a thread that came
late, or whose core also does other work, does less, and a thread mostly reads what it has written itself. Work on one thread
is done by the first. Who waits spins for some microseconds, then sleeps, or sleeps at once where there are more threads than
processors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...schedule.threads import shared_loops
from ...tir.expr import Const
from ...tir.kernel import Kernel
from ...tir.program import Program
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Scope, Seq, Stmt, Store, children, pre_order

WORKER = "worker"
"""What functions call the thread that runs them."""

REGION_WORK = 1 << 23
"""Stores in loops shared by threads from which on a run takes a parallel region: 100 microseconds or so, several times what it
costs to wake the threads."""

_SPINS = 1000
"""Looks at the generation before a thread sleeps: some microseconds. Threads beyond the processors sleep at once, since the one
that is waited for may need the processor: a network of 64 threads on 2 took 83 ms with, and 18 ms without."""

TEXT = """\
#if defined(_OPENMP) && defined(__GNUC__)
#define IRT_TEAM 1
#include <omp.h>
#include <pthread.h>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#else
#define IRT_TEAM 0
#endif

/* The threads of a run. */
typedef struct {
  struct { int count; char apart[60]; } taken[64]; /* by thread: parts of its share of the loop that is run now */
  int arrived, generation, asleep, spins;
#if IRT_TEAM
  pthread_mutex_t lock;
  pthread_cond_t wake;
#endif
} irt_team;

/* One of them; alone, without a team. */
typedef struct {
  irt_team *team;
  int number, threads, parts, share;
} irt_worker;

/* The next part of a loop for this thread: of its own share, then of the others'; the number of parts if there is none. */
IRT_INLINE int irt_next(irt_worker *w) {
#if IRT_TEAM
  for (; w->team && w->share < w->threads; ++w->share) {
    const int n = (w->number + w->share) % w->threads;
    const int first = (int)((int64_t)w->parts * n / w->threads), end = (int)((int64_t)w->parts * (n + 1) / w->threads);
    const int part = first + __atomic_fetch_add(&w->team->taken[n].count, 1, __ATOMIC_RELAXED);
    if (part < end) return part;
  }
  if (w->team) return w->parts;
#endif
  return w->share++;
}

IRT_INLINE int irt_first(irt_worker *w, int parts) {
  w->parts = parts;
  w->share = 0;
  return irt_next(w);
}

/* Returns when all threads have come here. */
IRT_INLINE void irt_wait(irt_worker *w) {
#if IRT_TEAM
  irt_team *const team = w->team;
  int generation, n;
  if (!team) return;
  generation = __atomic_load_n(&team->generation, __ATOMIC_RELAXED);
  if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == w->threads) {
    for (n = 0; n < w->threads; ++n) __atomic_store_n(&team->taken[n].count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&team->generation, generation + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&team->asleep, __ATOMIC_SEQ_CST)) {
      pthread_mutex_lock(&team->lock);
      pthread_cond_broadcast(&team->wake);
      pthread_mutex_unlock(&team->lock);
    }
    return;
  }
  for (n = 0; n < team->spins; ++n) {
    if (__atomic_load_n(&team->generation, __ATOMIC_ACQUIRE) != generation) return;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
  pthread_mutex_lock(&team->lock);
  __atomic_add_fetch(&team->asleep, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&team->generation, __ATOMIC_SEQ_CST) == generation) pthread_cond_wait(&team->wake, &team->lock);
  __atomic_sub_fetch(&team->asleep, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&team->lock);
#else
  (void)w;
#endif
}
"""
"""C that functions in teams need."""

_COUNT = """\
#if IRT_TEAM
/* How many threads a run may have. One if it is itself in a parallel region; one in a process that was forked after threads
   were made, which has none of them. */
static int {name}_threads(void) {{
  int threads = omp_in_parallel() ? 1 : omp_get_max_threads();
#if defined(__unix__) || defined(__APPLE__)
  static int owner;
  int before = 0;
  const int own = (int)getpid();
  if (threads > 1 && !__atomic_compare_exchange_n(&owner, &before, own, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
      && before != own) return 1;
#endif
  return threads < 64 ? threads : 64;
}}
#endif
"""


def count_threads(name: str) -> str:
    """The C function that says how many threads a run has."""
    return _COUNT.format(name=name)


def run_together(name: str, call: str, pays: bool) -> str:
    """The statements of a run: in a parallel region if that pays and there are several threads, else alone.

    Args:
        call: of the function that is run by each thread, with `%s` for the address of its worker.
    """
    alone = f"  {{\n    irt_worker alone = {{NULL, 0, 1, 0, 0}};\n    return {call % '&alone'};\n  }}\n"
    if not pays:
        return alone
    return (
        "#if IRT_TEAM\n"
        f"  const int threads = {name}_threads();\n"
        "  if (threads > 1) {\n"
        "    irt_team team;\n"
        "    int code = 0;\n"
        "    memset(&team, 0, sizeof team);\n"
        f"    team.spins = threads > omp_get_num_procs() ? 0 : {_SPINS};\n"
        "    pthread_mutex_init(&team.lock, NULL);\n"
        "    pthread_cond_init(&team.wake, NULL);\n"
        "#pragma omp parallel num_threads(threads)\n"
        "    {\n"
        "      irt_worker own = {&team, omp_get_thread_num(), omp_get_num_threads(), 0, 0};\n"
        f"      const int found = {call % '&own'};\n"
        "      if (!own.number) code = found;\n"
        "    }\n"
        "    pthread_cond_destroy(&team.wake);\n"
        "    pthread_mutex_destroy(&team.lock);\n"
        "    return code;\n"
        "  }\n"
        f"#endif\n{alone}"
    )


def is_shared(kernel: Kernel) -> bool:
    """True if threads share some of the kernel's loops."""
    return any(isinstance(s, For) and s.kind == PARALLEL for s in pre_order(kernel.body))


@dataclass(frozen=True)
class Division:
    """How a team runs a nest.

    Attributes:
        shared: loops whose steps the threads share.
        alone: what one thread runs.
        each: what every thread runs in full: it fills memory that each has for itself.
        common: loops around these, which all threads go through in step.
    """

    shared: frozenset[Stmt]
    alone: frozenset[Stmt]
    each: frozenset[Stmt]
    common: frozenset[Stmt]


def divide(body: Stmt) -> Division | None:
    """The division of a kernel's nest; None where it has no loop that is shared, or one at a place where threads cannot meet,
    such as inside of a condition."""
    holds: set[Stmt] = set()
    stack: list[tuple[Stmt, tuple[Stmt, ...]]] = [(body, ())]
    while stack:
        s, around = stack.pop()
        if isinstance(s, For) and s.kind == PARALLEL:
            holds.update((*around, s))
        stack.extend((k, (*around, s)) for k in children(s))
    shared: set[Stmt] = set()
    alone: set[Stmt] = set()
    each: set[Stmt] = set()
    common: set[Stmt] = set()
    own: set[Buffer] = set()
    waiting = [body]
    while waiting:
        s = waiting.pop()
        is_leaf = s not in holds or (isinstance(s, For) and s.kind == PARALLEL)
        written = _written(s) if is_leaf and own else set()
        if written and written <= own:
            each.add(s)
        elif written & own:
            return None
        elif s not in holds:
            alone.add(s)
        elif isinstance(s, For) and s.kind == PARALLEL:
            loops = shared_loops(s)
            if loops[-1].body in holds or not all(isinstance(x.extent, Const) and x.extent.value > 0 for x in loops):
                return None
            shared.add(s)
        elif isinstance(s, For) and s.kind == SERIAL and isinstance(s.extent, Const):
            common.add(s)
            waiting.append(s.body)
        elif isinstance(s, Seq | Allocate):
            if isinstance(s, Allocate) and s.buffer.scope != Scope.GLOBAL:
                own.add(s.buffer)
            waiting.extend(children(s))
        else:
            return None
    return Division(frozenset(shared), frozenset(alone), frozenset(each), frozenset(common)) if shared else None


def _written(s: Stmt) -> set[Buffer]:
    """The buffers from outside that a statement writes."""
    parts = list(pre_order(s))
    inside = {x.buffer for x in parts if isinstance(x, Allocate)}
    return {x.buffer for x in parts if isinstance(x, Store)} - inside


def runs_in_teams(program: Program) -> bool:
    """True if threads share loops of the program, and all such loops in a way that suits teams."""
    shared = [k for k in program.kernels if is_shared(k)]
    return bool(shared) and all(divide(k.body) is not None for k in shared)


def shared_work(program: Program) -> int:
    """Stores in the loops that threads share, of each kernel once."""
    found = 0
    stack = [(k.body, 1, False) for k in program.kernels]
    while stack:
        s, times, shared = stack.pop()
        found += times if shared and isinstance(s, Store) else 0
        if isinstance(s, For):
            times *= int(s.extent.value) if isinstance(s.extent, Const) else 1
            shared = shared or s.kind == PARALLEL
        stack.extend((k, times, shared) for k in children(s))
    return found
