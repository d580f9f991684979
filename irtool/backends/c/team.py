"""Threads that run a network together: one parallel region for a run, in which the first thread does the steps and the others
help it with loops.

A kernel with loops that threads share is a task. The first thread publishes it and begins with it at once; the others, which
look out for tasks, join while it is open. Each thread takes the parts of its own share of a loop in order, then those that
others have not begun; so that a thread that came late, or whose core also does other work, does less, and a thread mostly reads
what it has written itself. When all parts are taken, the first thread closes the task and waits for those that joined, and for
nobody else: a helper without a processor delays no task that it is not in. So it is where the threads of a task have to
meet; who joins after that finds that there is nothing left to do in the loops before. That may not be where each thread first
copies what the loops then write over.

Who waits spins for a tenth of a millisecond or so, then sleeps, or sleeps at once if there are more threads than processors.
"""

from __future__ import annotations

from collections.abc import Sequence

from .runtime import fill_runtime

WORKER = "worker"
"""What functions call the thread that runs them."""

REGION_WORK = 3 << 20
"""`shared_work` from which on a run takes a parallel region: 40 microseconds or so, as long as threads that
sleep take to come."""

_SPINS = 10000
"""Looks before a thread sleeps: a tenth of a millisecond or so. Threads beyond the processors sleep at once, since the one
that is waited for may need the processor: a network of 64 threads on 2 took 83 ms with, and 18 ms without."""


def count_threads(name: str, most: int) -> str:
    """The C function that says how many threads a run has, `most` (up to 64) if there are more: so many have a part of the workspace."""
    return fill_runtime("threads.c", name=name, most=most)


def run_together(name: str, call: str, pays: bool, flushes: bool) -> str:
    """The statements of a run: in a parallel region if that pays and there are several threads, else alone.

    Args:
        call: of the function that does the steps, with `%s` for the address of the worker that is to do them.
        flushes: each thread takes denormal numbers for zeros meanwhile (see `denormals`).
    """
    before, after = (
        ("    const irt_mode before = irt_flush();\n", "    irt_restore(before);\n") if flushes else ("", "")
    )
    alone = (
        f"  {{\n    irt_worker alone = {{NULL, 0, 1, 0, 0, 0, 0, 0, 0}};\n{before}    const int code = {call % '&alone'};\n"
        f"{after}    return code;\n  }}\n"
    )
    inner = [f"  {line}" if line else "" for line in (before, after)]
    if not pays:
        return alone
    return (
        "#if IRT_TEAM\n"
        f"  const int threads = {name}_threads();\n"
        "  if (threads > 1) {\n"
        "    irt_team team __attribute__((aligned(128)));\n"
        "    int code = 0;\n"
        "    memset(&team, 0, sizeof team);\n"
        f"    team.spins = threads > omp_get_num_procs() ? 0 : {_SPINS};\n"
        "    pthread_mutex_init(&team.lock, NULL);\n"
        "    pthread_cond_init(&team.wake, NULL);\n"
        "#pragma omp parallel num_threads(threads)\n"
        "    {\n"
        "      irt_worker own = {&team, omp_get_thread_num(), omp_get_num_threads(), 0, 0, 0, 0, 0, 0};\n"
        f"{inner[0]}"
        "      if (own.number) {\n"
        "        irt_help(&own);\n"
        "      } else {\n"
        f"        code = {call % '&own'};\n"
        "        irt_end(&team);\n"
        "      }\n"
        f"{inner[1]}"
        "    }\n"
        "    pthread_cond_destroy(&team.wake);\n"
        "    pthread_mutex_destroy(&team.lock);\n"
        "    return code;\n"
        "  }\n"
        f"#endif\n{alone}"
    )


def write_task(name: str, kernel: str, types: Sequence[str]) -> str:
    """The function that runs a kernel as a task: it hands the kernel its operands, of these types of pointers."""
    operands = ", ".join(f"({t})operands[{n}]" for n, t in enumerate(types))
    return (
        f"static void {name}(const void *const *operands, irt_worker *{WORKER}) {{\n"
        f"  {kernel}({operands}, {WORKER});\n}}\n"
    )
