"""Threads that run a network together: one parallel region for a run, in which the first thread executes the steps and the others
help with loops.

A kernel with shared loops is a task. The first thread publishes it and begins with it at once; the others poll for tasks, and
join while one is open. Each thread takes the parts of its own share of a loop in order, then those that others have not begun, so
that a thread that came late, or whose core also does other work, takes fewer parts, and a thread mostly reads its own results.
When all parts are taken, the first thread closes the task and waits for the threads that joined, and for no others: a descheduled
thread delays only tasks that it has joined. The same holds at barriers within a task: late joiners find no parts left in the
loops before. Late joiners are excluded if each thread first copies data that the loops then overwrite.

A waiting thread spins for about a tenth of a millisecond, then sleeps; it sleeps at once if there are more threads than
processors.
"""

from __future__ import annotations

from collections.abc import Sequence

from .runtime import fill_runtime

WORKER = "worker"
"""The name of the current thread in functions."""

REGION_WORK = 3 << 20
"""`shared_work` from which on a run gets a parallel region: about 40 microseconds, the time in which sleeping threads wake up."""

_SPINS = 10000
"""Polls of a thread before it sleeps: about a tenth of a millisecond. Threads beyond the processors sleep at once, since the
thread that they wait for may need the processor: a network of 64 threads on 2 took 83 ms with polls, and 18 ms without."""


def count_threads(name: str, most: int) -> str:
    """The C function that returns the number of threads of a run, `most` (up to 64) at most: so many have a part of the
    workspace."""
    return fill_runtime("threads.c", name=name, most=most)


def run_together(name: str, call: str, pays: bool, flushes: bool) -> str:
    """The statements of a run: in a parallel region if that pays and there are several threads, otherwise alone.

    Args:
        call: the call of the function with the steps, with `%s` for the address of its worker.
        flushes: each thread treats denormal numbers as zeros meanwhile (see `denormals`).
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


def write_task(name: str, kernel: str, types: Sequence[str], lengths: int) -> str:
    """The function that runs a kernel as a task: it hands the kernel its operands, of these types of pointers, then the values of so many
    lengths, whose addresses follow the operands."""
    pointers = [f"({t})operands[{n}]" for n, t in enumerate(types)]
    values = [f"*(const int64_t *)operands[{len(types) + n}]" for n in range(lengths)]
    operands = ", ".join([*pointers, *values])
    return (
        f"static void {name}(const void *const *operands, irt_worker *{WORKER}) {{\n"
        f"  {kernel}({operands}, {WORKER});\n}}\n"
    )
